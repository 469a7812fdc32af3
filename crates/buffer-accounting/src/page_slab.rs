//! A large buffer of whole pages.

use std::fmt;
use std::io;

use memmap2::MmapMut;

use crate::{Buffer, BufferMut, OwnedBytes};

/// Size of the pages that are asked for where the system has huge ones.
const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// Zeroed memory straight from the system, in huge pages where it has them. Its size is a multiple of 2 MiB, so it is for large buffers;
/// its start is the start of a page, so it can be viewed as any plain value. It goes back to the system when dropped.
pub struct PageSlab {
    map: MmapMut,
    huge: bool,
}

impl PageSlab {
    /// At least `bytes` bytes.
    ///
    /// # Errors
    /// The system's reason, usually that it has no memory.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let too_large = || io::Error::new(io::ErrorKind::OutOfMemory, format!("{bytes} bytes are more than this system can address"));
        let rounded = Self::rounded(bytes).ok_or_else(too_large)?;
        let map = MmapMut::map_anon(usize::try_from(rounded).map_err(|_| too_large())?)?;
        #[cfg(target_os = "linux")]
        let huge = map.advise(memmap2::Advice::HugePage).is_ok();
        #[cfg(not(target_os = "linux"))]
        let huge = false;
        Ok(Self { map, huge })
    }

    /// What a slab for `bytes` bytes owns: the next multiple of 2 MiB, at least one. `None` above the largest number.
    #[must_use]
    pub fn rounded(bytes: u64) -> Option<u64> {
        bytes.max(1).checked_next_multiple_of(HUGE_PAGE_BYTES)
    }

    /// Whether the system took the request for huge pages; it gives them as it has them.
    #[must_use]
    pub fn asked_for_huge_pages(&self) -> bool {
        self.huge
    }
}

impl fmt::Debug for PageSlab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSlab").field("bytes", &self.map.len()).field("huge", &self.huge).finish()
    }
}

impl OwnedBytes for PageSlab {
    fn owned_bytes(&self) -> u64 {
        self.map.len() as u64
    }
}

impl Buffer for PageSlab {
    type Contents = [u8];
    fn contents(&self) -> &[u8] {
        &self.map
    }
}

impl BufferMut for PageSlab {
    fn contents_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}
