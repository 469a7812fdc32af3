use super::*;

struct Trial {
    environment: Environment,
    flags: FlagValues,
    folder: tempfile::TempDir,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let variables = BTreeMap::from([(OsString::from("HOME"), folder.path().into())]);
        Self { environment: Environment { variables }, flags: FlagValues::default(), folder }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.variables.insert(name.into(), value.into());
        self
    }

    fn flag(mut self, name: &'static str, value: &str) -> Self {
        self.flags.values.push((name, value.into()));
        self
    }

    fn file(mut self, text: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join("trial.toml");
        std::fs::write(&path, text).unwrap();
        self.flags.config = Some(path);
        self
    }

    fn load(&self) -> Result<Config, Failure> {
        Config::load(&self.flags, &self.environment)
    }

    /// Loading fails with this code and a message that names all of this.
    fn refused(&self, exit: Exit, words: &[&str]) {
        let failure = self.load().unwrap_err();
        assert_eq!(failure.exit, exit, "{failure}");
        assert!(!failure.message.contains('\n'), "{failure}");
        for word in words {
            assert!(failure.message.contains(word), "{word:?} is not in {failure}");
        }
    }
}

#[test]
fn later_layers_win_and_say_where_they_are() {
    let trial = Trial::new();
    let config = trial.load().unwrap();
    assert_eq!((config.memory.value, config.memory.source), (MemoryBudget::Auto, Source::Default));
    assert_eq!(config.params_dir.unwrap().value, trial.folder.path().join(".local/share/proofmill/params"));

    let trial = trial.file("# sizes\nmemory = \"1GiB\"\nthreads = 3\nparams_dir = \"keys\"\n");
    let config = trial.load().unwrap();
    let file = trial.folder.path().join("trial.toml");
    assert_eq!((config.memory.value, config.memory.source), (MemoryBudget::Bytes(1 << 30), Source::File(file.clone(), 2)));
    assert_eq!(config.threads.value, Threads::Count(3));
    assert_eq!(config.params_dir.unwrap().value, trial.folder.path().join("keys"));
    assert_eq!(config.file, Some(file));

    let trial = trial.variable("PROOFMILL_MEMORY", "2GiB").variable("PROOFMILL_ACCEPT_DEVELOPMENT_PARAMETERS", "true");
    let config = trial.load().unwrap();
    assert_eq!((config.memory.value, config.memory.source), (MemoryBudget::Bytes(2 << 30), Source::Environment("PROOFMILL_MEMORY")));
    assert!(config.accept_development_parameters.value);

    let trial = trial.flag("memory", "3GiB");
    let config = trial.load().unwrap();
    assert_eq!((config.memory.value, config.memory.source), (MemoryBudget::Bytes(3 << 30), Source::Flag("--memory".into())));
}

#[test]
fn mistakes_in_the_file_are_refused_with_line_and_forms() {
    for (text, words) in [
        ("\nmemory = \"50GB \"\n", &["trial.toml:2: memory: \"50GB \" is not allowed", "blank", "\"24GiB\""][..]),
        ("memory = 24\n", &["trial.toml:1", "\"24\"", "integer", "string in quotes"]),
        ("\n\nstop_grace = \"30\"", &["trial.toml:3", "unit is missing", "ms, s, min or h"]),
        ("log = \"info\"\nmemroy = \"1GiB\"", &["trial.toml:2", "unknown key \"memroy\"", "did you mean memory?"]),
        ("frobnicate = 1", &["trial.toml:1", "unknown key", "params_dir, cache_dir, memory"]),
        ("[memory]\nsize = 1", &["trial.toml:1", "table"]),
        ("accept_development_parameters = \"true\"", &["boolean without quotes"]),
        ("threads = 0", &["trial.toml:1", "1 to 4096"]),
        ("threads = 2.5", &["trial.toml:1", "float"]),
        ("params_dir = \"\"", &["it is empty"]),
        ("memory = \"1GiB\nthreads = 1", &["trial.toml:1", "not valid TOML"]),
        ("threads = 1\nthreads = 2", &["trial.toml:2", "not valid TOML"]),
    ] {
        Trial::new().file(text).refused(Exit::Config, words);
    }
    Trial::new().file(b"log = \"info\"\n\xff").refused(Exit::Config, &["line 2", "UTF-8"]);
}

#[test]
fn a_bad_value_is_refused_even_where_a_flag_overrides_it() {
    Trial::new().file("memory = \"lots\"").flag("memory", "1GiB").refused(Exit::Config, &["trial.toml:1"]);
}

#[test]
fn mistakes_in_the_environment_and_in_flags_are_refused() {
    Trial::new().variable("PROOFMILL_MEMORY", "50GB ").refused(Exit::Config, &["environment variable PROOFMILL_MEMORY", "blank", "GiB"]);
    Trial::new().variable("PROOFMILL_MEMROY", "1GiB").refused(Exit::Config, &["PROOFMILL_MEMROY", "did you mean PROOFMILL_MEMORY?"]);
    Trial::new().variable("PROOFMILL_LOG", "").refused(Exit::Config, &["PROOFMILL_LOG", "off, error"]);
    Trial::new().flag("threads", "none").refused(Exit::Usage, &["flag --threads", "1 to 4096"]);
}

#[test]
fn the_named_file_must_exist_and_the_default_one_need_not() {
    let mut trial = Trial::new();
    trial.flags.config = Some(trial.folder.path().join("absent.toml"));
    trial.refused(Exit::NoInput, &["absent.toml", "cannot be read"]);
    trial.flags.config = None;
    assert!(trial.load().unwrap().file.is_none());
    let default = trial.folder.path().join(".config/proofmill/config.toml");
    std::fs::create_dir_all(default.parent().unwrap()).unwrap();
    std::fs::write(&default, "threads = 7").unwrap();
    let config = trial.load().unwrap();
    assert_eq!((config.threads.value, config.file), (Threads::Count(7), Some(default)));
}

#[test]
fn without_a_home_there_are_no_default_folders() {
    let mut trial = Trial::new();
    trial.environment.variables.clear();
    let config = trial.load().unwrap();
    let failure = config.params_dir().unwrap_err();
    assert_eq!(failure.exit, Exit::Config);
    assert!(failure.message.contains("--params-dir"), "{failure}");
    assert_eq!(config.list().len(), KEYS.len());
}
