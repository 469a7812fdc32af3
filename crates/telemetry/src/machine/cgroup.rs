//! The memory limit of a control group.

use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::TelemetryError;
use crate::proc_file::read;

/// Which interface of control groups accounts memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    /// One tree a controller.
    V1,
    /// The unified tree.
    V2,
}

impl CgroupVersion {
    /// Folder of the memory tree, and in it the files with a limit, the bytes in use, and the name of reclaimable file pages.
    fn names(self) -> (&'static str, &'static [&'static str], &'static str, &'static str) {
        match self {
            Self::V1 => ("sys/fs/cgroup/memory", &["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file"),
            // Above `memory.high` the kernel slows the process down until it cannot work: as good as a limit.
            Self::V2 => ("sys/fs/cgroup", &["memory.max", "memory.high"], "memory.current", "inactive_file"),
        }
    }
}

/// The control group that bounds the memory of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CgroupMemory {
    /// Which interface.
    pub version: CgroupVersion,
    /// The group of this process, or the ancestor whose limit is the smallest.
    pub group: String,
    /// The limit in bytes; `None` when no group up to the root has one.
    pub limit_bytes: Option<u64>,
    /// Bytes in use by that group, without file pages that can be dropped.
    pub used_bytes: Option<u64>,
}

impl CgroupMemory {
    /// Bytes the group may still take; `None` without a limit.
    #[must_use]
    pub fn room_bytes(&self) -> Option<u64> {
        Some(self.limit_bytes?.saturating_sub(self.used_bytes.unwrap_or(0)))
    }

    /// The smallest limit between the group of this process and the root of the tree. `root` stands for `/`.
    ///
    /// `None` on a kernel without control groups for memory.
    pub(crate) fn read_under(root: &Path) -> Result<Option<Self>, TelemetryError> {
        let path = root.join("proc/self/cgroup");
        let Some((version, group)) = group_of(&read(&path)?) else { return Ok(None) };
        let (folder, limits, current, inactive) = version.names();
        let tree = root.join(folder);
        if !tree.is_dir() {
            return Ok(None);
        }
        let mut smallest: Option<(u64, PathBuf)> = None;
        // A group that the mount does not show (a container with the host's names) has no files here; its ancestors may.
        for ancestor in group.ancestors() {
            let ancestor_folder = tree.join(ancestor);
            let limit = limits.iter().filter_map(|file| limit_in(&ancestor_folder.join(file))).min();
            if let Some(limit) = limit.filter(|limit| smallest.as_ref().is_none_or(|(least, _)| limit < least)) {
                smallest = Some((limit, ancestor.to_owned()));
            }
        }
        let (limit_bytes, group) = match smallest {
            Some((limit, group)) => (Some(limit), group),
            None => (None, group),
        };
        let used_bytes = used_in(&tree.join(&group), current, inactive);
        Ok(Some(Self { version, group: format!("/{}", group.display()), limit_bytes, used_bytes }))
    }
}

/// The group of the memory controller in `/proc/self/cgroup`, relative to the tree.
fn group_of(text: &str) -> Option<(CgroupVersion, PathBuf)> {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let v1 = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "memory"));
    let (version, (_, group)) = match v1 {
        Some(line) => (CgroupVersion::V1, line),
        None => (CgroupVersion::V2, lines().find(|(controllers, _)| controllers.is_empty())?),
    };
    // A group outside the process' namespace is named with `..`, which must not lead out of the tree.
    let parts = Path::new(group).components().filter(|part| matches!(part, Component::Normal(_)));
    Some((version, parts.collect()))
}

/// The number in a limit file, unless there is none or it stands for "no limit".
fn limit_in(path: &Path) -> Option<u64> {
    // Version 1 writes the largest multiple of a page below 2^63 for "none"; no machine has an eighth of that.
    read(path).ok()?.trim().parse::<u64>().ok().filter(|limit| *limit < 1 << 60)
}

fn used_in(group: &Path, current: &str, inactive: &str) -> Option<u64> {
    let current: u64 = read(&group.join(current)).ok()?.trim().parse().ok()?;
    let stat = read(&group.join("memory.stat")).unwrap_or_default();
    let droppable = stat.lines().find_map(|line| line.strip_prefix(inactive)?.strip_prefix(' ')?.trim().parse::<u64>().ok());
    Some(current.saturating_sub(droppable.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(cgroup: &str) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.file("proc/self/cgroup", cgroup);
            tree
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn read(&self) -> Option<CgroupMemory> {
            CgroupMemory::read_under(self.0.path()).unwrap()
        }
    }

    #[test]
    fn version_2_takes_the_smallest_limit_up_to_the_root() {
        let tree = Tree::new("0::/kubepods/pod1/app\n");
        tree.file("sys/fs/cgroup/kubepods/pod1/app/memory.max", "max\n");
        tree.file("sys/fs/cgroup/kubepods/pod1/app/memory.current", "5\n");
        tree.file("sys/fs/cgroup/kubepods/pod1/memory.max", "4096000\n");
        tree.file("sys/fs/cgroup/kubepods/pod1/memory.current", "1000000\n");
        tree.file("sys/fs/cgroup/kubepods/pod1/memory.stat", "anon 1\ninactive_file 300000\nactive_file 7\n");
        tree.file("sys/fs/cgroup/kubepods/memory.max", "8192000\n");
        let memory = tree.read().unwrap();
        let expected = CgroupMemory {
            version: CgroupVersion::V2,
            group: "/kubepods/pod1".to_owned(),
            limit_bytes: Some(4_096_000),
            used_bytes: Some(700_000),
        };
        assert_eq!(memory, expected);
        assert_eq!(memory.room_bytes(), Some(3_396_000));
        tree.file("sys/fs/cgroup/kubepods/pod1/app/memory.high", "2000\n");
        assert_eq!(tree.read().unwrap().room_bytes(), Some(1995));
    }

    #[test]
    fn version_2_without_limits_and_in_a_namespace() {
        let tree = Tree::new("0::/\n");
        tree.file("sys/fs/cgroup/memory.max", "max\n");
        tree.file("sys/fs/cgroup/memory.current", "77\n");
        let memory = tree.read().unwrap();
        assert_eq!((memory.limit_bytes, memory.used_bytes, memory.room_bytes()), (None, Some(77), None));
        tree.file("sys/fs/cgroup/memory.max", "1000\n");
        assert_eq!(tree.read().unwrap().room_bytes(), Some(923));
        // In use beyond the limit: nothing is left, and nothing wraps.
        tree.file("sys/fs/cgroup/memory.current", "2000\n");
        assert_eq!(tree.read().unwrap().room_bytes(), Some(0));
    }

    #[test]
    fn version_1_beside_an_empty_unified_tree() {
        let tree = Tree::new("9:name=systemd:/\n4:cpuset,memory:/docker/abc\n0::/\n");
        // The container's mount shows its own group as the root.
        tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
        tree.file("sys/fs/cgroup/memory/memory.usage_in_bytes", "48576\n");
        tree.file("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 8576\n");
        let memory = tree.read().unwrap();
        assert_eq!((memory.version, memory.group.as_str()), (CgroupVersion::V1, "/"));
        assert_eq!((memory.limit_bytes, memory.room_bytes()), (Some(1_048_576), Some(1_008_576)));
        tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(tree.read().unwrap().limit_bytes, None);
    }

    #[test]
    fn names_never_lead_out_of_the_tree() {
        let tree = Tree::new("0::/../../secret\n");
        tree.file("sys/fs/secret/memory.max", "1\n");
        tree.file("secret/memory.max", "1\n");
        tree.file("sys/fs/cgroup/memory.max", "500\n");
        assert_eq!(tree.read().unwrap().limit_bytes, Some(500));
    }

    #[test]
    fn no_control_groups_is_an_answer() {
        assert_eq!(Tree::new("").read(), None);
        assert_eq!(Tree::new("0::/\n").read(), None);
        assert_eq!(Tree::new("1:cpu:/\n2:pids:/\n").read(), None);
        let empty = tempfile::tempdir().unwrap();
        assert!(CgroupMemory::read_under(empty.path()).unwrap_err().to_string().contains("proc/self/cgroup"));
    }
}
