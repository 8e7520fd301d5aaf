//! Times as people say them.

use jiff::Timestamp;

/// Says how long ago a time of the wire was: `5m ago`. What is no time stays as it is.
pub(crate) fn ago(time: &str) -> String {
    match time.parse() {
        Ok(time) => since(time, Timestamp::now()),
        Err(_) => time.to_owned(),
    }
}

fn since(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    match seconds {
        ..=-2 => "in the future".to_owned(),
        -1..5 => "now".to_owned(),
        5..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// Says how long something lasts, in its largest whole unit: `29m`.
pub(crate) fn length(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_one_unit() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let said = |seconds: i64| since(Timestamp::from_second(1_000_000 - seconds).unwrap(), now);
        let said: Vec<_> = [-60, -1, 4, 59, 300, 7_199, 90_000].map(said).into();
        let shown = [
            "in the future",
            "now",
            "now",
            "59s ago",
            "5m ago",
            "1h ago",
            "1d ago",
        ];
        assert_eq!(said, shown);
        assert_eq!(ago("no time"), "no time");
        let lengths = [-1, 59_999, 60_000, 5_400_000, 90_000_000, 200_000_000].map(length);
        assert_eq!(lengths, ["0s", "59s", "1m", "90m", "25h", "2d"]);
    }
}
