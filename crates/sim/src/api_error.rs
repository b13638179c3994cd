//! Error answers, in the form that OpenAI's API gives them.

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::json;

/// An error that is answered with a status and a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) param: Option<&'static str>,
    pub(crate) status: StatusCode,
}

impl ApiError {
    pub(crate) fn bad_request(param: Option<&'static str>, message: String) -> Self {
        Self { code: None, message, param, status: StatusCode::BAD_REQUEST }
    }

    pub(crate) fn new(status: StatusCode, message: String) -> Self {
        Self { code: None, message, param: None, status }
    }

    pub(crate) fn unknown_model(model: &str) -> Self {
        Self {
            code: Some("model_not_found"),
            message: format!("The model `{model}` does not exist."),
            param: Some("model"),
            status: StatusCode::NOT_FOUND,
        }
    }

    pub(crate) fn body(&self) -> Bytes {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "server_error",
        };
        let error =
            json!({"message": self.message, "type": kind, "param": self.param, "code": self.code});
        json!({ "error": error }).to_string().into()
    }
}
