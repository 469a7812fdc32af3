//! `config`: the effective configuration and where each value comes from.

use serde_json::{Value as Json, json};

use crate::config::{Config, Source};
use crate::output::{Report, Table};

/// Every setting, its value and its source.
pub(crate) fn report(config: &Config) -> Report {
    let mut table = Table::new(["setting", "value", "source"]);
    let mut settings = Vec::new();
    for (key, value, source) in config.list() {
        let source = match (&value, source) {
            (None, _) => "no default: HOME is not set".to_owned(),
            (_, Source::Default) => "default".to_owned(),
            (_, source) => source.to_string(),
        };
        settings.push(json!({ "key": key.name, "value": value, "source": source, "variable": key.variable, "forms": key.forms }));
        table.row([key.name.to_owned(), value.unwrap_or_else(|| "-".to_owned()), source]);
    }
    let file = config.file.as_ref().map(|path| path.display().to_string());
    let text = format!("configuration file: {}\n{table}", file.as_deref().unwrap_or("none"));
    Report::new(text, json!({ "file": file, "settings": Json::Array(settings) }))
}
