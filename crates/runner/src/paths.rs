//! The user's folders, by the XDG rules.

use std::path::{Path, PathBuf};

use crate::config::Environment;

/// The folders that defaults are made of. Any of them may be unknown.
#[derive(Clone, Debug)]
pub(crate) struct UserFolders {
    home: Option<PathBuf>,
    data: Option<PathBuf>,
    cache: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl UserFolders {
    /// The folders of a process with this environment. The XDG rules ignore relative paths.
    pub(crate) fn of(environment: &Environment) -> Self {
        let absolute = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let folder = |name: &str, below_home: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(below_home))).map(|folder| folder.join("proofmill"))
        };
        Self {
            data: folder("XDG_DATA_HOME", ".local/share"),
            cache: folder("XDG_CACHE_HOME", ".cache"),
            config: folder("XDG_CONFIG_HOME", ".config"),
            home,
        }
    }

    /// The home folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Proving parameters: data, because making or importing them is costly.
    pub(crate) fn params(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|folder| folder.join("params"))
    }

    /// Compiled circuits: cache, because they can be made again at any time.
    pub(crate) fn circuits(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|folder| folder.join("circuits"))
    }

    /// The user's configuration file.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join("config.toml"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(variables: &[(&str, &str)]) -> UserFolders {
        UserFolders::of(&Environment { variables: variables.iter().map(|(k, v)| (k.into(), v.into())).collect() })
    }

    #[test]
    fn xdg_before_home_and_only_absolute() {
        let f = folders(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "/srv/data"), ("XDG_CACHE_HOME", "relative")]);
        assert_eq!(f.params().unwrap(), Path::new("/srv/data/proofmill/params"));
        assert_eq!(f.circuits().unwrap(), Path::new("/home/ada/.cache/proofmill/circuits"));
        assert_eq!(f.config_file().unwrap(), Path::new("/home/ada/.config/proofmill/config.toml"));
        let f = folders(&[("HOME", "")]);
        assert_eq!((f.params(), f.circuits(), f.config_file()), (None, None, None));
    }
}
