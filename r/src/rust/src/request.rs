//! What R asks for: lists read into the settings that all packages share, and the computation that they stand for.

use extendr_api::Robj;
use extendr_api::deserializer::from_robj;
use noisewright::run::Context;
use noisewright::{Model, Points};
use noisewright_bindings::{
    DesignSettings, ErrorSettings, EvidenceSettings, Failure, FitSettings, LogZSettings, Outcome, Pool,
    QuestionSettings, Request, Rows, SavedFit, Sides, check_settings, domain_words, evidence, fit_rows,
    log_z, log_z_states, noise_of_record, texts, value,
};
use noisewright_report::Value;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::function::FunctionRequest;
use crate::job::Desk;

/// A computation that has all it needs.
pub(crate) type Work = Box<dyn FnOnce(&Desk) -> Outcome<Value> + Send>;

/// The computation of a name, with its list read.
pub(crate) fn read(what: &str, list: &Robj) -> Outcome<Work> {
    match what {
        "describe" => work(list, describe),
        "evaluate" => work(list, evaluate),
        "fit" => work(list, fit),
        "log_density" => work(list, log_density),
        "simulate" => work(list, simulate),
        "derive" => work(list, derive),
        "wald" => work(list, wald),
        "log_z" => work(list, normalizer),
        "evidence" => work(list, evidence_of),
        "states" => work(list, states),
        "error" => work(list, error),
        "design" => work(list, design),
        _ => Err(Failure::Broken(format!("there is no computation {what}"))),
    }
}

fn work<R: DeserializeOwned + Send + 'static>(
    list: &Robj,
    run: fn(R, &Desk) -> Outcome<Value>,
) -> Outcome<Work> {
    let read: R = from_robj(list).map_err(|error| Failure::Broken(error.to_string()))?;
    Ok(Box::new(move |desk| run(read, desk)))
}

/// A model: the text of a model file, or a function of R.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRequest {
    text: Option<String>,
    function: Option<FunctionRequest>,
    fixed: Vec<(String, f64)>,
    constraints: Vec<String>,
}

impl ModelRequest {
    fn model(&self, desk: &Desk) -> Outcome<Model> {
        let model = match (&self.text, &self.function) {
            (Some(text), _) => Model::from_toml(text)?,
            (None, Some(function)) => function.model(desk)?,
            (None, None) => return Err(Failure::Input("`model` is neither written nor a function".into())),
        };
        let held = !self.fixed.is_empty() || !self.constraints.is_empty();
        let model =
            if held { model.with_fixed(&self.fixed)?.with_constraints(&self.constraints)? } else { model };
        Ok(model.with_cancel(&desk.monitor.cancel))
    }
}

/// A matrix of one row per point, column after column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    rows: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn points(self, names: &[String]) -> Outcome<Points> {
        Ok(Points::from_values(names, self.rows, self.values)?)
    }

    fn columns(&self) -> Vec<&[f64]> {
        self.values.chunks(self.rows.max(1)).collect()
    }
}

/// A noise: words, and the texts of designs that they may refer to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseRequest {
    words: String,
    records: Vec<String>,
}

impl NoiseRequest {
    fn request(self) -> Outcome<Request> {
        let built = self.records.iter().map(|text| noise_of_record(text)).collect::<Outcome<Vec<_>>>()?;
        Ok(Request { words: self.words, built })
    }
}

fn describe(request: ModelRequest, desk: &Desk) -> Outcome<Value> {
    let model = request.model(desk)?;
    let column = |of: fn(&noisewright::Parameter) -> f64| -> Value {
        Value::Numbers(model.parameters().iter().map(of).collect())
    };
    let domains = domain_words(model.space()).into_iter().map(|(word, _)| word);
    Ok(Value::Map(vec![
        ("variables".into(), texts(model.space().names().to_vec())),
        ("domains".into(), texts(domains)),
        ("covariates".into(), texts(model.covariates().to_vec())),
        ("parameters".into(), texts(model.parameters().iter().map(|parameter| parameter.name.clone()))),
        ("start".into(), column(|parameter| parameter.start)),
        ("lower".into(), column(|parameter| parameter.lower)),
        ("upper".into(), column(|parameter| parameter.upper)),
        ("coordinates".into(), texts(model.coordinates())),
        ("normalized".into(), model.is_normalized().into()),
    ]))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvaluateRequest {
    model: ModelRequest,
    at: Vec<(String, f64)>,
    points: Matrix,
}

/// The log-density up to its constant at points.
fn evaluate(request: EvaluateRequest, desk: &Desk) -> Outcome<Value> {
    let model = request.model.model(desk)?;
    let points = request.points.points(model.space().names())?;
    let parameters = model.at(&request.at)?;
    model.check(&parameters)?;
    let mut values = vec![0.0; points.rows()];
    model.evaluate(&parameters, points.view(), &mut values, None)?;
    Ok(Value::Numbers(values))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FitRequest {
    model: ModelRequest,
    points: Matrix,
    weights: Option<Vec<f64>>,
    clusters: Option<Vec<u64>>,
    chains: Option<Vec<usize>>,
    noise: NoiseRequest,
    /// The settings that are not at their defaults.
    given: Vec<String>,
    settings: FitSettings,
}

fn fit(request: FitRequest, desk: &Desk) -> Outcome<Value> {
    check_settings(&request.settings.method, &request.noise.words, false, &request.given)?;
    let model = request.model.model(desk)?;
    let rows = Rows {
        points: request.points.points(model.space().names())?,
        weights: request.weights,
        clusters: request.clusters,
        chains: request.chains,
    };
    let options = request.settings.options(&model, &request.noise.request()?, None, &desk.monitor)?;
    let (fit, mut answer) = fit_rows(&model, &rows, &options, request.model.text.as_deref())?;
    answer.set("no_answer_code", fit.diagnostics.no_answer().map(|warning| warning.code()));
    Ok(answer)
}

/// A fit that is over.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedRequest {
    joint: Option<String>,
    record: Option<String>,
}

impl FittedRequest {
    fn saved(&self) -> Outcome<SavedFit> {
        SavedFit::read(self.joint.as_deref(), self.record.as_deref())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogDensityRequest {
    fitted: FittedRequest,
    model: ModelRequest,
    points: Matrix,
}

fn log_density(request: LogDensityRequest, desk: &Desk) -> Outcome<Value> {
    let model = request.model.model(desk)?;
    let points = request.points.points(model.space().names())?;
    request.fitted.saved()?.log_density(&model, points.view())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SimulateRequest {
    fitted: FittedRequest,
    model: ModelRequest,
    count: usize,
    seed: u64,
}

fn simulate(request: SimulateRequest, desk: &Desk) -> Outcome<Value> {
    let context = Context::new(request.seed, &desk.monitor.cancel, None);
    request.fitted.saved()?.simulate(&request.model.model(desk)?, request.count, &context)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormulasRequest {
    fitted: FittedRequest,
    formulas: Vec<String>,
}

fn derive(request: FormulasRequest, _: &Desk) -> Outcome<Value> {
    let joint = request.fitted.saved()?.joint;
    let estimate = |formula: &String| value(&joint.derive(formula)?);
    Ok(Value::List(request.formulas.iter().map(estimate).collect::<Outcome<_>>()?))
}

fn wald(request: FormulasRequest, _: &Desk) -> Outcome<Value> {
    value(&request.fitted.saved()?.joint.wald(&request.formulas)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogZRequest {
    log_f_data: Vec<f64>,
    log_noise_data: Vec<f64>,
    log_f_noise: Vec<f64>,
    log_noise_noise: Vec<f64>,
    chains_data: Option<Vec<usize>>,
    chains_noise: Option<Vec<usize>>,
    settings: LogZSettings,
}

fn normalizer(request: LogZRequest, desk: &Desk) -> Outcome<Value> {
    let columns =
        [&request.log_f_data, &request.log_noise_data, &request.log_f_noise, &request.log_noise_noise];
    let sides = Sides {
        columns: columns.map(Vec::as_slice),
        chains: [request.chains_data.clone(), request.chains_noise.clone()],
    };
    log_z(&sides, &request.settings, &desk.monitor)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvidenceRequest {
    model: ModelRequest,
    at: Vec<(String, f64)>,
    draws: Matrix,
    own: EvidenceSettings,
    settings: LogZSettings,
}

fn evidence_of(request: EvidenceRequest, desk: &Desk) -> Outcome<Value> {
    let model = request.model.model(desk)?;
    let draws = request.draws.points(model.space().names())?;
    let parameters = model.at(&request.at)?;
    model.check(&parameters)?;
    evidence(&model.density(&parameters)?, draws.view(), request.own, None, &request.settings, &desk.monitor)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatesRequest {
    /// One column per state, one row per draw.
    log_f: Matrix,
    pool: Pool,
}

fn states(request: StatesRequest, desk: &Desk) -> Outcome<Value> {
    log_z_states(&request.log_f.columns(), &request.pool, &desk.monitor)
}

/// What `error` and `design` have in common.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question<S> {
    model: ModelRequest,
    at: Vec<(String, f64)>,
    data: Option<Matrix>,
    noise: NoiseRequest,
    question: QuestionSettings,
    settings: S,
}

impl<S> Question<S> {
    fn problem(&mut self, desk: &Desk) -> Outcome<noisewright_bindings::Problem> {
        let model = self.model.model(desk)?;
        let parameters = model.at(&self.at)?;
        model.check(&parameters)?;
        let data = self.data.take().map(|data| data.points(model.space().names())).transpose()?;
        let question = QuestionSettings { parameters, ..self.question.clone() };
        let mut problem = question.problem(model.clone(), data).for_run(model, &desk.monitor.cancel);
        // Averages over the data do not give the constant: it is integrated where R does not say it.
        if problem.on_data && problem.log_normalizer.is_none() {
            problem.log_normalizer = Some(problem.question().log_normalizer()?);
        }
        Ok(problem)
    }
}

fn error(mut request: Question<ErrorSettings>, desk: &Desk) -> Outcome<Value> {
    let problem = request.problem(desk)?;
    let (mut answer, noise) = problem.error(&request.noise.request()?, &request.settings)?;
    answer.set("noise", noise.describe());
    Ok(answer)
}

fn design(mut request: Question<DesignSettings>, desk: &Desk) -> Outcome<Value> {
    let problem = request.problem(desk)?;
    let noise = request.noise.request()?;
    let (mut answer, best) = problem.design(&noise, &request.settings, request.model.text.as_deref())?;
    answer.set("noise_words", best.describe());
    Ok(answer)
}
