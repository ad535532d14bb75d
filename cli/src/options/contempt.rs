//! Parses the option `Contempt`: by how many Elo we are stronger, for each opponent.

use crate::text::quoted;

/// The Elo advantage over an opponent (`UCI_Opponent`) in a list `entry,entry,…`. An entry is `NUMBER`, for any
/// opponent, or `NAME=NUMBER`, for opponents whose name contains NAME, regardless of case. The first NAME that fits
/// decides. If none fits, the last entry without a name counts, and if there is none, `rating_advantage`
/// (`UCI_RatingAdv`).
///
/// # Errors
/// One line: the first entry that is malformed, even if it follows the one that decides.
pub fn elo_of(list: &str, opponent: &str, rating_advantage: f64) -> Result<f64, String> {
    let mut elo = rating_advantage;
    let mut decided = false;
    let mut offset = 0;
    for entry in list.split(',') {
        let (name, number) = match entry.split_once('=') {
            Some((name, number)) => (Some(name.trim()), number.trim()),
            None => (None, entry.trim()),
        };
        if name.is_some() || !number.is_empty() {
            let Some(number) = number.parse().ok().filter(|number: &f64| number.is_finite()) else {
                return Err(format!("at offset {offset}: expected NUMBER or NAME=NUMBER, got {}", quoted(entry)));
            };
            let counts = name.is_none_or(|name| contains(opponent, name));
            if counts && !decided {
                elo = number;
                decided = name.is_some();
            }
        }
        offset += entry.len() + 1;
    }
    Ok(elo)
}

/// Whether `text` contains `name`, regardless of case.
fn contains(text: &str, name: &str) -> bool {
    name.is_empty() || text.as_bytes().windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contempt_by_opponent() {
        let elo = |list, opponent| elo_of(list, opponent, 33.0);
        assert_eq!(elo("", "anybody"), Ok(33.0));
        assert_eq!(elo("50", "anybody"), Ok(50.0));
        assert_eq!(elo("50,-20.5,", "anybody"), Ok(-20.5), "the last one");
        let list = "10, stockfish=0,Komodo Dragon = 40,fish=60,20";
        assert_eq!(elo(list, "none none computer Stockfish 17"), Ok(0.0));
        assert_eq!(elo(list, "none 3500 computer KOMODO dragon 3"), Ok(40.0));
        assert_eq!(elo(list, "GM 2800 human Fisher"), Ok(60.0));
        assert_eq!(elo(list, ""), Ok(20.0));
        assert_eq!(elo("=5,7", ""), Ok(5.0), "an empty name is in every name");
        assert_eq!(elo("é=5", "xÉ"), Ok(33.0), "only ASCII has capitals here");
    }

    #[test]
    fn entries_that_are_none() {
        for (list, offset, entry) in [
            ("x", 0, "x"),
            ("10,y=", 3, "y="),
            ("a=1,b=2=3", 4, "b=2=3"),
            ("a=1, ,inf", 6, "inf"),
            ("1e999", 0, "1e999"),
            // "a" decides, but the rest is checked too.
            ("a=1,zwölf,x", 4, "zwölf"),
        ] {
            let error = format!("at offset {offset}: expected NUMBER or NAME=NUMBER, got {entry:?}");
            assert_eq!(elo_of(list, "a", 0.0), Err(error), "{list}");
        }
    }
}
