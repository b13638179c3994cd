//! The scripted server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use streamgauge_sim::{RawServer, RawStep};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn connect(addr: SocketAddr) -> TcpStream {
    TcpStream::connect(addr).await.expect("a listening server")
}

async fn read_all(stream: &mut TcpStream) -> (String, io::Result<usize>) {
    let mut text = Vec::new();
    let end = stream.read_to_end(&mut text).await;
    (String::from_utf8(text).expect("text"), end)
}

fn write(text: &str) -> RawStep {
    RawStep::Write(text.as_bytes().to_vec())
}

#[tokio::test]
async fn steps_begin_after_head_and_body() {
    let steps = vec![write("one "), RawStep::Wait(Duration::from_millis(5)), write("two")];
    let server = RawServer::start(steps).await.unwrap();
    let mut stream = connect(server.addr()).await;
    for part in ["POST / HTTP/1.1\r\ncontent-le", "ngth: 4\r\n\r\nab"] {
        stream.write_all(part.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(server.requests(), Vec::<Vec<u8>>::new());
    }
    stream.write_all(b"cd").await.unwrap();
    let (text, end) = read_all(&mut stream).await;
    assert_eq!((text.as_str(), end.is_ok()), ("one two", true));
    assert_eq!(server.requests(), [b"POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nabcd"]);
}

#[tokio::test]
async fn each_connection_has_its_script_and_the_last_one_repeats() {
    let scripts = vec![
        vec![write("a"), RawStep::AwaitRequest, RawStep::Reset, write("never")],
        vec![write("b"), RawStep::Close, write("never")],
    ];
    let server = RawServer::start_scripts(scripts).await.unwrap();

    let mut first = connect(server.addr()).await;
    first.write_all(b"GET /1 HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(first.read_u8().await.unwrap(), b'a');
    first.write_all(b"GET /2 HTTP/1.1\r\n\r\n").await.unwrap();
    let (text, end) = read_all(&mut first).await;
    assert_eq!((text.as_str(), end.unwrap_err().kind()), ("", io::ErrorKind::ConnectionReset));

    for _ in 0..2 {
        let mut next = connect(server.addr()).await;
        next.write_all(b"GET /3 HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(read_all(&mut next).await.0, "b");
    }
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn hold_ends_when_the_client_does() {
    let server = RawServer::start(vec![RawStep::Hold, write("late")]).await.unwrap();
    let mut stream = connect(server.addr()).await;
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let silence = tokio::time::timeout(Duration::from_millis(50), stream.read_u8()).await;
    assert!(silence.is_err());
    stream.shutdown().await.unwrap();
    assert_eq!(read_all(&mut stream).await.0, "late");
}
