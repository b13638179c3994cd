//! A number that another one has to be near.

use streamgauge_schema::NumberWithin;

use crate::error::GraderError;

/// A wanted number with the distance that is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearby {
    value: f64,
    distance: f64,
}

impl Nearby {
    pub(crate) fn new(wanted: &NumberWithin) -> Result<Self, GraderError> {
        let NumberWithin { value, within, within_ratio } = *wanted;
        let distance = f64::max(within, within_ratio * value.abs());
        let is_distance = |number: f64| number.is_finite() && number >= 0.0;
        if !value.is_finite() || ![within, within_ratio, distance].into_iter().all(is_distance) {
            return Err(GraderError::Number { value, within, within_ratio });
        }
        Ok(Self { value, distance })
    }

    pub(crate) fn admits(&self, number: f64) -> bool {
        // Equal numbers have no distance; asking for it first keeps 0 exact.
        number == self.value || (number - self.value).abs() <= self.distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wider_distance_holds_and_its_end_is_within() {
        let nearby = |value, within, within_ratio| {
            Nearby::new(&NumberWithin { value, within, within_ratio }).unwrap()
        };
        assert!(nearby(0.1, 0.0, 0.0).admits(0.1) && !nearby(0.1, 0.0, 0.0).admits(0.100_000_1));
        assert!(nearby(10.0, 0.5, 0.0).admits(10.5) && !nearby(10.0, 0.5, 0.0).admits(10.51));
        assert!(nearby(-10.0, 0.5, 0.1).admits(-9.0) && !nearby(-10.0, 0.5, 0.1).admits(-8.9));
        assert!(!nearby(10.0, 1e300, 0.0).admits(f64::NAN));
    }

    #[test]
    fn what_no_number_can_be_near_is_refused() {
        let cases = [
            (f64::NAN, 0.0, 0.0),
            (1.0, -1.0, 0.0),
            (1.0, 0.0, -0.1),
            (1.0, f64::INFINITY, 0.0),
            (1e300, 0.0, 1e300),
        ];
        for (value, within, within_ratio) in cases {
            assert!(Nearby::new(&NumberWithin { value, within, within_ratio }).is_err(), "{value}");
        }
    }
}
