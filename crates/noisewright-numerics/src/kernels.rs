//! Elementary functions over slices.
/// `out[i] = exp(x[i])`.
pub fn exp(x: &[f64], out: &mut [f64]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = v.exp();
    }
}
/// `out[i] = ln(x[i])`.
pub fn ln(x: &[f64], out: &mut [f64]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = v.ln();
    }
}
/// `softplus[i] = ln(1 + exp(g[i]))` and `sigmoid[i] = 1 / (1 + exp(-g[i]))` in one pass.
pub fn softplus_sigmoid(g: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
    for i in 0..g.len() {
        let e = (-g[i].abs()).exp();
        softplus[i] = g[i].max(0.0) + e.ln_1p();
        sigmoid[i] = if g[i] >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    }
}
/// `out[i] = 1 / (1 + exp(-g[i]))`.
pub fn sigmoid(g: &[f64], out: &mut [f64]) {
    for (o, &v) in out.iter_mut().zip(g) {
        let e = (-v.abs()).exp();
        *o = if v >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    }
}
