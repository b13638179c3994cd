//! Answers that are wrong because they were ordered to be.

use serde_json::json;
use streamgauge_sim::{FaultKind, FaultRule, SimConfig};

use crate::client::{Client, quick, read_stream, settled, start, streaming};

const PROMPT: &str = "Begin with the marker M1. Repeat the word go 6 times.";

#[tokio::test]
async fn each_way_of_being_wrong() {
    let server = start(quick()).await;
    let right = "M1 go go go go go go";
    for (fault, expected, finish, model) in [
        ("none", right, "stop", "sim-model"),
        ("change:2", "M1 go otherwise go go go go", "stop", "sim-model"),
        ("drop:2", "M1 go go go go", "stop", "sim-model"),
        ("length:3", "M1 go go", "length", "sim-model"),
        ("length:7", right, "stop", "sim-model"),
        ("model", right, "stop", "sim-model-other"),
    ] {
        let mut client = Client::connect(server.addr()).await;
        let response = client.chat(&[("x-sim-fault", fault)], streaming(PROMPT, 20)).await.unwrap();
        let stream = read_stream(response).await;
        assert!(stream.end.is_ok(), "{fault}");
        assert_eq!(stream.text("content"), expected, "{fault}");
        assert!(stream.outline().contains(&format!("finish {finish}")), "{fault}");
        assert!(stream.chunks().iter().all(|chunk| chunk["model"] == model), "{fault}");
        let ordered = settled(&server).await.fault.map(|fault| fault.to_string());
        assert_eq!(ordered.as_deref(), Some(fault).filter(|fault| *fault != "none"));
    }
}

#[tokio::test]
async fn thinking_leaks_into_the_content() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let response = client.chat(&[("x-sim-fault", "think")], streaming(PROMPT, 20)).await.unwrap();
    let content = read_stream(response).await.text("content");
    assert!(content.starts_with("<think> "), "{content}");
    assert!(content.ends_with(" </think> M1 go go go go go go"), "{content}");
}

#[tokio::test]
async fn crossed_requests_get_each_others_answers() {
    // Long enough that the second request surely comes before the first output of the first one.
    let ttft = std::time::Duration::from_millis(400);
    let rule = FaultRule { every: 2, kind: FaultKind::Cross };
    let server = start(SimConfig { ttft, faults: vec![rule], ..quick() }).await;
    let ask = async |marker: &str| {
        let mut client = Client::connect(server.addr()).await;
        let prompt = format!("begin with the marker {marker}, repeat the word go 1 times");
        client.stream(&streaming(&prompt, 9)).await.text("content")
    };
    let mut contents = Vec::new();
    let (one, two, three) = tokio::join!(ask("A"), ask("B"), ask("C"));
    contents.extend([one, two, three]);
    let own = ["A go", "B go", "C go"];
    let wrong: Vec<usize> = (0..3).filter(|place| contents[*place] != own[*place]).collect();
    let [left, right] = wrong[..] else { panic!("{contents:?}") };
    assert_eq!([&*contents[left], &*contents[right]], [own[right], own[left]]);
    let crossed = server.account().iter().filter(|it| it.fault == Some(FaultKind::Cross)).count();
    assert_eq!(crossed, 2);

    assert_eq!(ask("D").await, "D go", "who is alone has nobody to cross with");
}

#[tokio::test]
async fn a_request_can_hold_its_own_answer() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let mut body = streaming("What is the capital of Switzerland?", 9);
    body["sim"] = json!({"answer": "It has none,  but Bern."});
    let stream = client.stream(&body).await;
    assert_eq!(stream.text("content"), "It has none,  but Bern.");
    assert!(stream.outline().contains(&"finish stop".to_owned()));
}
