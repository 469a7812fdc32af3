//! What goes next, and how much is let in: pure functions over a [`Snapshot`], without clock, lock, thread or input.
//!
//! # Order
//!
//! [`Rank`] orders whatever is ready for a worker: priority first, then downstream first (work near its end gives bytes back soonest),
//! then the oldest job, then the lower partition. Admission looks at jobs by priority and age alone, so the partitions of a job
//! go in together: a younger job of the same priority starts when no partition of the older one waits. A job that does not fit now
//! is not overtaken, so nothing large starves behind what is small; a job that can never fit is refused with the numbers.
//!
//! # The control law
//!
//! A partition that is let in holds bytes from then on, so as few as possible are let in, but never so few that the slowest stage runs
//! out of work. For the next partition, whose estimated service time at stage *i* is *sᵢ* and whose stages have *wᵢ* workers:
//!
//! - its **bottleneck** *b* is the stage of the largest *sᵢ / wᵢ*;
//! - the **supply** is the work that is admitted and has not passed *b*, as time at *b*: the sum of *s_b / w_b* of each such partition;
//! - the **low-water mark** is *(1 + m) · (s₁ + … + s_b)*: the time from admission to the end of *b*, with a margin *m* for jitter.
//!
//! [`next_admission`] lets the partition in while the supply is below the mark, what is in flight in all is below
//! *(1 + m) · (s₁ + … + sₙ) + s_b* in the same unit, and its bytes fit what is free. This is release by the load of the bottleneck ("drum,
//! buffer, rope"; "pull from the bottleneck" in Hopp and Spearman, *Factory Physics*), with what they call critical work in process,
//! Little's law at the bottleneck's rate, as the level.
//!
//! **It is stable.** The supply counts a partition from the moment it is admitted, not from when it reaches the bottleneck. The delay of the
//! upstream stages is therefore inside the measured quantity, as in an order-up-to inventory rule, and cannot cause the overshoot of a
//! regulator that reacts to a queue it sees too late. An admission raises the supply by one step of *s_b / w_b*, only progress lowers it:
//! there is nothing to oscillate, and the supply never exceeds the mark by more than one step.
//!
//! **What is in flight is bounded**, by the smaller of the budget and, for partitions of one kind,
//! ⌈*(1 + m) · (s₁ + … + sₙ) · w_b / s_b*⌉ + *w_b*, whatever jobs wait and wherever work piles up. Work of a lower priority does not
//! count against a higher one, which would otherwise wait behind it; the bound then holds for each of the four priorities.
//!
//! **The bottleneck does not starve.** With constant service times the admitted partitions, the workers and the rule "one in when one has
//! passed *b*" are a timed event graph, whose cycle time is the largest ratio of time to tokens over its circuits (Baccelli, Cohen,
//! Olsder, Quadrat, *Synchronization and Linearity*, chapter 2). A circuit mixes the workers of stages, *sᵢ / wᵢ*
//! each, and the loop of admission, *(s₁ + … + s_b) / W* for *W* partitions let in. A mixed ratio is at most the largest of its
//! parts, so the bottleneck runs at its own pace *s_b / w_b* as soon as *W ≥ (s₁ + … + s_b) · w_b / s_b*, which is the mark.
//!
//! **When the estimates are wrong**, throughput is at least the smaller of the bottleneck's and *W / (s₁ + … + s_b)* with the true times: an
//! upstream time that is *f* times the estimate costs a factor of at most *f / (1 + m)*, no collapse. An estimate that is too
//! high costs memory in proportion, up to the bound above computed with the estimates, and never more than the budget. Work that piles
//! up behind *b* because another stage is the slow one is caught by the second condition. Measured times correct both.
//!
//! **Hysteresis** is where noise enters: [`Estimate`] publishes a new value only when its mean has left a band around the old one, so that
//! marks move in steps and not with each sample. Before a kind of job was measured, one partition for each worker of all stages is let
//! in: whatever the times are, *s₁ + … + s_b* times *w_b / s_b* is at most *w₁ + … + w_b*, since no *sᵢ / wᵢ* exceeds *s_b / w_b*.
//!
//! [`Roster`] is the state that a pipeline keeps to ask with: jobs, where their partitions are, estimates by kind of job.

mod admission;
mod estimate;
mod order;
mod roster;
mod snapshot;

pub use admission::{Control, Decision, Hold, admit_all, next_admission};
pub use buffer_accounting::Priority;
pub use estimate::Estimate;
pub use order::{Rank, first};
pub use roster::{NewJob, Roster};
pub use snapshot::{BudgetView, JobView, Snapshot};
