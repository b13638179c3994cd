//! The statistics that result files state, and those that are taken of single values here.

use streamgauge_metrics::Statistic;

/// A statistic of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stat {
    Max,
    Mean,
    Min,
    /// A percentile, as the digits of its rank: `50`, `99.9`.
    Percentile(String),
    /// NumPy's standard deviation, which divides by the number.
    PopulationStddev,
    /// The one that divides by one less than the number.
    SampleStddev,
    /// A percentile by another estimator, Hyndman and Fan's type 1: the smallest value that so large
    /// a share does not exceed.
    Type1(String),
}

impl Stat {
    /// The statistic that a word of a result file's key stands for.
    pub(crate) fn of_key(word: &str, stddev: Self) -> Option<Self> {
        match word {
            "max" => Some(Self::Max),
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Percentile("50".to_owned())),
            "min" => Some(Self::Min),
            "std" => Some(stddev),
            _ => {
                let rank = word.strip_prefix('p')?;
                let is_rank = rank.parse().is_ok_and(|rank: f64| (0.0..=100.0).contains(&rank));
                let is_plain = rank.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                (is_rank && is_plain).then(|| Self::Percentile(rank.to_owned()))
            }
        }
    }

    /// Its word in the id of a metric.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Max => "max".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Percentile(rank) => format!("p{rank}"),
            Self::PopulationStddev => "pstddev".to_owned(),
            Self::SampleStddev => "stddev".to_owned(),
            Self::Type1(rank) => format!("p{rank}_type1"),
        }
    }

    /// The statistic that a word in the id of a metric stands for.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        match word {
            "median" | "std" => None,
            "pstddev" => Some(Self::PopulationStddev),
            "stddev" => Some(Self::SampleStddev),
            other => Self::of_key(other, Self::SampleStddev),
        }
    }

    /// Its name at the end of a label.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Percentile(rank) if rank == "50" => "median".to_owned(),
            Self::PopulationStddev | Self::SampleStddev => "standard deviation".to_owned(),
            Self::Type1(rank) => format!("p{rank} (type 1)"),
            _ => self.word(),
        }
    }

    /// Its name at the beginning of a definition.
    pub(crate) fn phrase(&self) -> String {
        match self {
            Self::Max => "Maximum".to_owned(),
            Self::Mean => "Mean".to_owned(),
            Self::Min => "Minimum".to_owned(),
            Self::Percentile(rank) if rank == "50" => "Median".to_owned(),
            Self::Percentile(rank) => format!("Percentile {rank}"),
            Self::PopulationStddev => "Population standard deviation".to_owned(),
            Self::SampleStddev => "Sample standard deviation".to_owned(),
            Self::Type1(rank) => format!("Smallest value that {rank} percent do not exceed,"),
        }
    }

    /// Whether it says how values are spread, which is neither better nor worse.
    pub(crate) fn is_spread(&self) -> bool {
        matches!(self, Self::PopulationStddev | Self::SampleStddev)
    }
}

impl From<Statistic> for Stat {
    fn from(statistic: Statistic) -> Self {
        let percentile = |rank: &str| Self::Percentile(rank.to_owned());
        match statistic {
            Statistic::Max => Self::Max,
            Statistic::Mean => Self::Mean,
            Statistic::Min => Self::Min,
            Statistic::P50 => percentile("50"),
            Statistic::P90 => percentile("90"),
            Statistic::P95 => percentile("95"),
            Statistic::P99 => percentile("99"),
            Statistic::StandardDeviation => Self::SampleStddev,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_result_files() {
        let cases = [
            ("mean", Some("mean")),
            ("median", Some("p50")),
            ("p99", Some("p99")),
            ("p99.9", Some("p99.9")),
            ("std", Some("pstddev")),
            ("p", None),
            ("p101", None),
            ("p+5", None),
            ("pnan", None),
            ("probe", None),
            ("total", None),
        ];
        for (key, expected) in cases {
            let found = Stat::of_key(key, Stat::PopulationStddev).map(|stat| stat.word());
            assert_eq!(found.as_deref(), expected, "{key}");
        }
    }

    #[test]
    fn words_lead_back() {
        for statistic in Statistic::ALL {
            let stat = Stat::from(statistic);
            assert_eq!(Stat::of_word(&stat.word()), Some(stat));
        }
        assert_eq!(Stat::of_word("pstddev"), Some(Stat::PopulationStddev));
        assert_eq!(Stat::of_word("median"), None);
    }
}
