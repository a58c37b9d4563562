//! Dates with times as traces write them, ISO 8601 and its relatives.

/// Seconds since 1970 of a date and time such as `2023-11-16 18:17:03.9799600` or `2024-05-10T00:00:00+02:00`. Without an
/// offset it is taken as UTC; only differences matter. A second of 60 is the next minute's first.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let year = digits(&mut rest, 4)?;
    let between = rest.chars().next().filter(|c| ['-', '/'].contains(c))?;
    let month = after(&mut rest, &[between]).and_then(|()| digits(&mut rest, 2))?;
    let day = after(&mut rest, &[between]).and_then(|()| digits(&mut rest, 2))?;
    let hour = after(&mut rest, &['T', 't', ' ']).and_then(|()| digits(&mut rest, 2))?;
    let minute = after(&mut rest, &[':']).and_then(|()| digits(&mut rest, 2))?;
    let second = match after(&mut rest, &[':']) {
        Some(()) => digits(&mut rest, 2)?,
        None => 0,
    };
    let mut fraction = 0.0;
    if after(&mut rest, &['.', ',']).is_some() {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(n_digits);
        fraction = format!("0.{number}")
            .parse()
            .ok()
            .filter(|_| 0 < n_digits)?;
        rest = tail;
    }
    let days_of_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_right = (1..=12).contains(&month)
        && (1..=days_of_month).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_right {
        return None;
    }
    let minutes = 60 * hour + minute - offset_minutes(rest.trim())?;
    let whole = 60 * (1440 * days(year, month, day) + minutes) + second;
    Some(whole as f64 + fraction)
}

/// Days from 1970-01-01. Years begin in March, so that the leap day is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Minutes east of UTC.
fn offset_minutes(text: &str) -> Option<i64> {
    if ["", "Z", "z", "UTC", "GMT"].contains(&text) {
        return Some(0);
    }
    let (sign, mut rest) = match text.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, text.strip_prefix(['-', '−'])?),
    };
    let hours = digits(&mut rest, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        mut rest => digits(&mut rest, 2).filter(|minutes| rest.is_empty() && *minutes < 60)?,
    };
    (hours < 24).then_some(sign * (60 * hours + minutes))
}

fn digits(rest: &mut &str, n: usize) -> Option<i64> {
    let (number, tail) = rest.split_at_checked(n)?;
    *rest = tail;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

fn after(rest: &mut &str, any: &[char]) -> Option<()> {
    *rest = rest.strip_prefix(any)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        // Seconds by `date -u +%s -d …`.
        let rows = [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2023-11-16 18:17:03.9799600", Some(1_700_158_623.979_96)),
            (
                "2024-05-10 00:00:00.009930+00:00",
                Some(1_715_299_200.009_93),
            ),
            ("2024-05-10 00:00:00+00:00", Some(1_715_299_200.0)),
            ("2024-05-10T02:00+0200", Some(1_715_299_200.0)),
            ("2024/05/09 19:00:00,250 -05", Some(1_715_299_200.25)),
            ("2024-05-10 00:00:00 UTC", Some(1_715_299_200.0)),
            ("2000-02-29 00:00:00", Some(951_782_400.0)),
            ("1969-12-31 23:59:60z", Some(0.0)),
            ("1900-02-29 00:00:00", None),
            ("2024-05-10", None),
            ("2024-05/10 00:00:00", None),
            ("2024-13-10 00:00:00", None),
            ("2024-04-31 00:00:00", None),
            ("2024-05-10 24:00:00", None),
            ("2024-05-10 00:00:00.", None),
            ("2024-05-10 00:00:00+1", None),
            ("2024-05-10 00:00:00+01:0", None),
            ("2024-05-10 00:00:00 CET", None),
            ("+024-05-10 00:00:00", None),
            ("18:17:03", None),
            ("２０２４-05-10 00:00:00", None),
        ];
        for (text, expected) in rows {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn days_follow_one_another() {
        let mut expected = days(1600, 1, 1);
        assert_eq!(expected, -135_140);
        for year in 1600..2401 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let months = [
                31,
                28 + i64::from(is_leap),
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ];
            for (month, n_days) in (1..).zip(months) {
                for day in 1..=n_days {
                    let text = format!("{year:04}-{month:02}-{day:02} 00:00");
                    assert_eq!(days(year, month, day), expected, "{text}");
                    assert_eq!(seconds(&text), Some((86_400 * expected) as f64), "{text}");
                    expected += 1;
                }
            }
        }
    }
}
