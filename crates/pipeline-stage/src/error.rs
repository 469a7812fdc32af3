//! What may be done about an error.

/// What may be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The same item may succeed when tried again (a device was lost, a file was busy).
    Retryable,
    /// The item cannot succeed: bad input, a broken file, a request larger than the budget.
    Fatal,
    /// The item was given up on request.
    Cancelled,
}

/// An error that says what may be done about it.
pub trait Classified: std::error::Error + Send + Sync + 'static {
    /// What may be done about this error.
    fn class(&self) -> ErrorClass;
}

impl Classified for buffer_accounting::AcquireError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::ExceedsBudget { .. } | Self::UnknownSpace { .. } | Self::NobodyReturns { .. } | Self::Nothing => ErrorClass::Fatal,
            Self::WouldBlock { .. } => ErrorClass::Retryable,
            Self::Cancelled { .. } => ErrorClass::Cancelled,
        }
    }
}

impl Classified for buffer_accounting::OversizedBuffer {
    fn class(&self) -> ErrorClass {
        ErrorClass::Fatal
    }
}

impl Classified for buffer_accounting::PoolError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Acquire(error) => error.class(),
            Self::Oversized(error) => error.class(),
            // The system may have memory again when others are done.
            Self::Make { .. } => ErrorClass::Retryable,
        }
    }
}
