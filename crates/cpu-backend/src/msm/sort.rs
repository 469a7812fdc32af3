//! Counting sort of a window's values by bucket.

use super::blocks::{Entries, NEGATIVE};
use super::digits::Windows;

/// Sorts the values of a window by bucket (bucket i holds digits ±(i + 1); digit 0 has none).
///
/// `order` gets the indices, marked where the point's opposite is meant; `ends[i]` becomes the end of bucket i in it, which is where
/// bucket i + 1 starts.
pub(crate) fn sort_window(windows: Windows, window: usize, blocks: &[Entries<'_>], ends: &mut [u32], order: &mut [u32]) {
    let reader = windows.reader(window);
    let with_small = windows.holds_small(window);
    ends.fill(0);
    let mut count = |digit: i32| {
        if digit != 0 {
            ends[digit.unsigned_abs() as usize - 1] += 1;
        }
    };
    for block in blocks {
        block.full().for_each(|(_, recoded)| count(reader.digit(recoded)));
        if with_small {
            block.small().for_each(|(_, recoded)| count(reader.digit(recoded)));
        }
    }
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    let mut place = |index: u32, digit: i32| {
        if digit != 0 {
            let next = &mut ends[digit.unsigned_abs() as usize - 1];
            order[*next as usize] = if digit < 0 { index ^ NEGATIVE } else { index };
            *next += 1;
        }
    };
    for block in blocks {
        block.full().for_each(|(index, recoded)| place(*index, reader.digit(recoded)));
        if with_small {
            block.small().for_each(|(index, recoded)| place(*index, reader.digit(recoded)));
        }
    }
}
