//! Values of the settings that let others watch a running command.

use std::net::SocketAddr;
use std::time::Duration;

use super::value::Value;

const OFF: &str = "off";

/// Where metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsAddress {
    /// Nowhere.
    Off,
    /// At this address; port 0 is one that is free.
    At(SocketAddr),
}

impl Value for MetricsAddress {
    const FORMS: &'static str = "\"off\", or an IP address and a port, for instance \"127.0.0.1:9464\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        if text == OFF {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| None)
    }
    fn show(&self) -> String {
        match self {
            Self::Off => OFF.to_owned(),
            Self::At(address) => address.to_string(),
        }
    }
}

/// How often the buffers are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuffersInterval {
    /// Never.
    Off,
    /// Once in this time.
    Every(Duration),
}

impl BuffersInterval {
    /// More often than this a log is not read any more.
    const SHORTEST: Duration = Duration::from_millis(100);
}

impl Value for BuffersInterval {
    const FORMS: &'static str = "\"off\", or a whole number and ms, s, min or h without blanks, at least 100ms, for instance \"30s\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        if text == OFF {
            return Ok(Self::Off);
        }
        match Duration::parse(text)? {
            interval if interval < Self::SHORTEST => Err(Some("it is too short".to_owned())),
            interval => Ok(Self::Every(interval)),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Off => OFF.to_owned(),
            Self::Every(interval) => interval.show(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers_with_a_port() {
        for text in ["off", "127.0.0.1:9464", "0.0.0.0:0", "[::1]:9464"] {
            assert_eq!(MetricsAddress::parse(text).unwrap().show(), text);
        }
        for text in ["", "Off", "9464", ":9464", "localhost:9464", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:9464"] {
            assert_eq!(MetricsAddress::parse(text), Err(None), "{text:?}");
        }
    }

    #[test]
    fn intervals_have_a_unit_and_an_end() {
        for text in ["off", "100ms", "30s", "5min"] {
            assert_eq!(BuffersInterval::parse(text).unwrap().show(), text);
        }
        for (text, reason) in [("0s", "too short"), ("99ms", "too short"), ("30", "unit"), ("often", "whole number")] {
            assert!(BuffersInterval::parse(text).unwrap_err().unwrap().contains(reason), "{text:?}");
        }
    }
}
