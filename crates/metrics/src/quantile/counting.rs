//! Several quantiles of many whole numbers, by counting instead of sorting: two passes over the
//! values, whatever they are, and a few tables beside them.

use super::Rank;

/// Values with the same upper half share a bucket, and there are as many lower halves.
const HALF: u32 = 16;
const BUCKETS: usize = 1 << HALF;
/// With fewer values the tables cost more than a sort.
const FEW_VALUES: usize = BUCKETS;
/// With more values a counter could overflow. Wider ones would take twice the cache.
const MANY_VALUES: usize = u32::MAX as usize;
/// Each wanted bucket has a table of a quarter of a mebibyte; for more of them sorting takes less.
const MANY_BUCKETS: usize = 32;

/// The quantiles of whole numbers in any order, one for each of `qs`: the same bits as
/// [`quantile`](super::quantile) of the same values as floats. `None` where that has none.
///
/// Takes about as long as one selection, however many quantiles are asked for; the values are neither
/// copied nor moved.
///
/// ```
/// use streamgauge_metrics::quantiles_of_u32;
/// let gaps_us = [30_000, 10_000, 20_000];
/// assert_eq!(quantiles_of_u32(&gaps_us, &[0.5, 0.75, 1.0]), [20_000.0, 25_000.0, 30_000.0].map(Some));
/// ```
#[must_use]
pub fn quantiles_of_u32(values: &[u32], qs: &[f64]) -> Vec<Option<f64>> {
    let ranks: Vec<Option<Rank>> = qs.iter().map(|q| Rank::of(values.len(), *q)).collect();
    let known = ranks.iter().flatten();
    let mut places: Vec<usize> = known.flat_map(|rank| [rank.below, rank.below + 1]).collect();
    places.retain(|place| *place < values.len());
    places.sort_unstable();
    places.dedup();
    let found = at_places(values.len(), |visit| visit(values), &places);
    let at = |place: usize| places.binary_search(&place).ok().map(|index| found[index]);
    let quantile = |rank: Option<Rank>| {
        let rank = rank?;
        let lo = f64::from(at(rank.below)?);
        let hi = at(rank.below + 1).map_or(lo, f64::from);
        Some(rank.between(lo, hi))
    };
    ranks.into_iter().map(quantile).collect()
}

/// The values at these places of the sorted order, of so many values that `each` visits slice by
/// slice, always the same; places rise and are below the number of values.
pub(crate) fn at_places(
    count: usize,
    each: impl Fn(&mut dyn FnMut(&[u32])),
    places: &[usize],
) -> Vec<u32> {
    let countable = (FEW_VALUES..=MANY_VALUES).contains(&count);
    if countable && places.len() <= MANY_BUCKETS {
        by_counting(each, places)
    } else {
        by_sorting(each, places)
    }
}

fn by_sorting(each: impl Fn(&mut dyn FnMut(&[u32])), places: &[usize]) -> Vec<u32> {
    let mut sorted = Vec::new();
    each(&mut |values| sorted.extend_from_slice(values));
    sorted.sort_unstable();
    places.iter().map(|place| sorted[*place]).collect()
}

/// The values at these places of the sorted order; places rise and are below the number of values,
/// which is at most [`MANY_VALUES`].
fn by_counting(each: impl Fn(&mut dyn FnMut(&[u32])), places: &[usize]) -> Vec<u32> {
    let mut by_upper = vec![0_u32; BUCKETS];
    each(&mut |values| {
        for value in values {
            by_upper[upper(*value)] += 1;
        }
    });
    // Which table a bucket counts into: the first one takes all that nobody asked for.
    let mut table_of = vec![0_u8; BUCKETS];
    let mut wanted: Vec<(usize, u8, usize)> = Vec::with_capacity(places.len());
    let (mut bucket, mut before, mut tables) = (0, 0, 0_u8);
    for place in places {
        while before + by_upper[bucket] as usize <= *place {
            before += by_upper[bucket] as usize;
            bucket += 1;
        }
        if table_of[bucket] == 0 {
            tables += 1;
            table_of[bucket] = tables;
        }
        wanted.push((bucket, table_of[bucket], place - before));
    }
    let mut by_lower = vec![0_u32; BUCKETS * (usize::from(tables) + 1)];
    each(&mut |values| {
        for value in values {
            let table = usize::from(table_of[upper(*value)]);
            by_lower[table << HALF | lower(*value)] += 1;
        }
    });
    let value = |(bucket, table, mut place): (usize, u8, usize)| {
        let table = &by_lower[usize::from(table) << HALF..][..BUCKETS];
        let found = table.iter().position(|count| {
            let here = place < *count as usize;
            place = place.saturating_sub(*count as usize);
            here
        });
        let lower = found.expect("a bucket holds as many values as were counted into it");
        u32::try_from(bucket << HALF | lower).expect("two halves of 16 bits")
    };
    wanted.into_iter().map(value).collect()
}

fn upper(value: u32) -> usize {
    (value >> HALF) as usize
}

fn lower(value: u32) -> usize {
    value as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::quantile;
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(quantiles_of_u32(&[], &[0.5]), [None]);
        assert_eq!(quantiles_of_u32(&[7], &[]), []);
        let qs = [0.0, 0.5, 1.0, 1.5, -0.1, f64::NAN];
        let seven = Some(7.0);
        assert_eq!(quantiles_of_u32(&[7], &qs), [seven, seven, seven, None, None, None]);
        assert_eq!(
            quantiles_of_u32(&[u32::MAX, 0], &qs[..3]),
            [0.0, 2147483647.5, 4294967295.0].map(Some)
        );
    }

    /// Values that share buckets, and values that do not.
    fn values() -> impl Strategy<Value = Vec<u32>> {
        let value = prop_oneof![0_u32..10, 0_u32..200_000, any::<u32>()];
        prop::collection::vec(value, 1..300)
    }

    proptest! {
        #[test]
        fn counting_finds_what_sorting_finds(values in values()) {
            let places: Vec<usize> = (0..values.len()).step_by(values.len().div_ceil(6)).collect();
            // In two slices, as values of several responses are.
            let (some, others) = values.split_at(values.len() / 3);
            let each = |visit: &mut dyn FnMut(&[u32])| [some, others].into_iter().for_each(visit);
            prop_assert_eq!(by_counting(each, &places), by_sorting(each, &places));
        }

        #[test]
        fn the_same_bits_as_quantile(values in values(), qs in prop::collection::vec(0.0..=1.0, 1..9)) {
            let floats: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let expected: Vec<Option<u64>> =
                qs.iter().map(|q| quantile(&floats, *q).map(f64::to_bits)).collect();
            let found = quantiles_of_u32(&values, &qs);
            prop_assert_eq!(found.into_iter().map(|it| it.map(f64::to_bits)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn many_values_are_counted() {
        let values: Vec<u32> =
            (0..100_000_u32).map(|n| n.wrapping_mul(2_654_435_761) >> 9).collect();
        let floats: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let qs = [0.5, 0.9, 0.95, 0.99, 1.0];
        assert_eq!(quantiles_of_u32(&values, &qs), qs.map(|q| quantile(&floats, q)));
    }
}
