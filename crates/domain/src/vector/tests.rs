//! J11: what a vector is, how it is written, and how near two of them are.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::decode;

fn embedding(components: &[f32]) -> Embedding {
    Embedding::new(components.to_vec()).unwrap()
}

#[test]
fn a_vector_is_finite_not_zero_and_of_some_length() {
    for (refused, rule) in [
        (vec![], "at least one"),
        (vec![0.0; 4_097], "at most 4096"),
        (vec![1.0, f32::NAN], "number 2 is not"),
        (vec![f32::INFINITY], "finite"),
        (vec![f32::NEG_INFINITY, 1.0], "number 1 is not"),
        (vec![0.0, -0.0, 0.0], "zero in every place"),
    ] {
        let said = Embedding::new(refused).unwrap_err();
        assert!(said.contains(rule), "{said}");
    }
    for good in [
        vec![f32::MAX; 4_096],
        vec![f32::MIN_POSITIVE / 8.0],
        vec![0.0, f32::from_bits(1)],
    ] {
        let good = Embedding::new(good).unwrap();
        assert_eq!(good.cosine(&good), Some(1.0));
    }
}

#[test]
fn the_bytes_are_little_endian() {
    let numbers = [1.0_f32, -2.5, 0.125];
    let bytes = embedding(&numbers).to_le_bytes();
    assert_eq!(
        bytes,
        [0, 0, 128, 63, 0, 0, 32, 192, 0, 0, 0, 62],
        "1.0 is 0x3f800000"
    );
    assert_eq!(Embedding::from_le_bytes(&bytes, 3), Ok(embedding(&numbers)));
    // The same numbers in the other order are other numbers.
    let swapped: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    let read = Embedding::from_le_bytes(&swapped, 3).unwrap();
    assert_ne!(read, embedding(&numbers));
    assert!(
        read.components().iter().all(|n| n.abs() < 1e-38),
        "{read:?}"
    );
    // And where they are none, they are refused: 0x0000807f is small, 0x7f800000 is infinite.
    let small = f32::from_bits(0x0000_807f);
    let swapped = [small.to_be_bytes(), 1.0_f32.to_be_bytes()].concat();
    assert!(
        Embedding::from_le_bytes(&swapped, 2)
            .unwrap_err()
            .contains("finite")
    );
    let small = f32::from_bits(0x0100_c07f);
    let said = Embedding::from_le_bytes(&small.to_be_bytes(), 1).unwrap_err();
    assert!(said.contains("finite"), "a NaN: {said}");
}

#[test]
fn bytes_of_another_length_are_refused() {
    let bytes = embedding(&[1.0, 2.0]).to_le_bytes();
    for (bytes, dimension, rule) in [
        (&bytes[..7], 2, "multiple of 4"),
        (&bytes[..4], 2, "must hold 2 numbers, not 1"),
        (&bytes[..], 1, "must hold 1 numbers, not 2"),
        (&[][..], 0, "at least one"),
    ] {
        let said = Embedding::from_le_bytes(bytes, dimension).unwrap_err();
        assert!(said.contains(rule), "{said}");
    }
}

#[test]
fn json_is_an_array_or_base64() {
    let wanted = embedding(&[1.0, -2.5, 0.125]);
    let array: Embedding = decode(json!([1, -2.5, 0.125])).unwrap();
    assert_eq!(array, wanted);
    let text = serde_json::to_value(&wanted).unwrap();
    assert_eq!(text, json!("AACAPwAAIMAAAAA+"));
    assert_eq!(decode::<Embedding>(text), Ok(wanted.clone()));
    assert_eq!(
        decode::<PackedEmbedding>(json!("AACAPwAAIMAAAAA-")),
        Ok(PackedEmbedding(wanted))
    );
    for (refused, rule) in [
        (json!([1e39]), "finite"),
        (json!([0, 0]), "zero"),
        (json!([1e-60]), "zero"),
        (json!([]), "at least one"),
        (json!(vec![1; 4_097]), "at most 4096"),
        (json!("AACAPwA"), "multiple of 4"),
        (json!("not base64"), "base64"),
        (json!("AADAfw=="), "finite"),
        (json!("A".repeat(21_849)), "at most 4096"),
        (json!(["1"]), "number"),
        (json!(1), "array"),
        (json!({ "0": 1 }), "array"),
    ] {
        let said = decode::<Embedding>(refused.clone())
            .unwrap_err()
            .to_string();
        assert!(said.contains(rule), "{refused}: {said}");
    }
}

#[test]
fn a_model_has_a_plain_name() {
    for good in [
        "hashed-1",
        "acme/small@2",
        "text-embedding-3-small",
        "A:b+c_d.e",
    ] {
        assert_eq!(ModelId::parse(good).unwrap().as_str(), good);
    }
    for refused in ["", "a b", "a\0", "é", "a\u{202e}b", &"a".repeat(129)] {
        assert!(ModelId::parse(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn different_dimensions_are_not_compared() {
    assert_eq!(embedding(&[1.0]).cosine(&embedding(&[1.0, 0.0])), None);
}

/// Numbers of every size, not only tame ones.
fn component() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1.0_f32..1.0,
        1 => any::<f32>().prop_filter("finite", |number| number.is_finite()),
        1 => Just(0.0_f32),
    ]
}

fn two() -> impl Strategy<Value = (Embedding, Embedding)> {
    let some = |dimension| vec(component(), dimension);
    (1_usize..300)
        .prop_flat_map(move |dimension| (some(dimension), some(dimension)))
        .prop_filter_map("not zero", |(a, b)| {
            Some((Embedding::new(a).ok()?, Embedding::new(b).ok()?))
        })
}

proptest! {
    #[test]
    fn nearness_is_symmetric_bounded_and_one_to_itself((a, b) in two()) {
        let near = a.cosine(&b).unwrap();
        prop_assert!((-1.0..=1.0).contains(&near));
        prop_assert_eq!(near.to_bits(), b.cosine(&a).unwrap().to_bits());
        prop_assert_eq!(a.cosine(&a), Some(1.0));
        let away = Embedding::new(a.components().iter().map(|n| -n).collect()).unwrap();
        prop_assert_eq!(a.cosine(&away), Some(-1.0));
    }

    #[test]
    fn bytes_and_base64_give_the_same_vector_back((a, _) in two()) {
        let bytes = a.to_le_bytes();
        prop_assert_eq!(&Embedding::from_le_bytes(&bytes, a.dimension()).unwrap(), &a);
        prop_assert_eq!(&Embedding::from_base64(&a.to_base64()).unwrap(), &a);
    }

    #[test]
    fn the_quick_product_is_within_its_slack((a, b) in two()) {
        let (a, b) = (a.unit(), b.unit());
        let exact = a.cosine(b.components()).unwrap();
        let quick = f64::from(quick(a.components(), b.components()));
        let slack = f64::from(slack(a.components().len()));
        prop_assert!((exact - quick).abs() <= slack, "{} {} {}", exact, quick, slack);
    }
}
