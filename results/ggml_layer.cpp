// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer on llama.cpp's CPU backend, or with -DIK_LLAMA on ik_llama.cpp's,
// timed: results/llama_layers.py builds it against a checkout and runs it in turn with
// `thresher bench --layer`.
//
//   ggml_layer TYPE HIDDENxINTERMEDIATExEXPERTSxTOP_K THREADS SECONDS TOKENS...
//
// TYPE: nvfp4, mxfp4, q4_0; with "+repack" the weights lie in the buffer that llama.cpp repacks
// them in. ik_llama.cpp has mxfp4 and mxfp4_r8, what it repacks that into at run time. Prints one
// line of JSON per number of tokens. The layer is what they build: llama.cpp three mul_mat_id,
// swiglu, the weights of the slots, a sum; ik_llama.cpp its fused gate and up (-fmoe), mul_mat_id,
// and its fused weighted sum. Every expert has memory of its own, and calls take turns at sets of
// ids, as in `thresher bench`.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#ifndef IK_LLAMA
#include <ggml-cpu.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

struct Shape {
  int64_t hidden = 0;
  int64_t inner = 0;
  int64_t experts = 0;
  int64_t top_k = 0;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "ggml_layer: %s\n", what);
  std::exit(1);
}

#ifdef IK_LLAMA
ggml_type type_called(const std::string& name) {
  if (name == "mxfp4") return GGML_TYPE_MXFP4;
  if (name == "mxfp4_r8") return GGML_TYPE_MXFP4_R8;
  fail("the type is mxfp4 or mxfp4_r8");
}

ggml_backend_buffer_type_t buffer_type(bool repack) {
  if (repack) fail("here a repacked type has a name of its own");
  return ggml_backend_cpu_buffer_type();
}

void quantize(const ggml_tensor* to, const std::vector<float>& values, void* out) {
  ggml_quantize_chunk(to->type, values.data(), out, 0, to->ne[1], to->ne[0], nullptr, nullptr);
}

ggml_tensor* layer_of(ggml_context* context, ggml_tensor* gate, ggml_tensor* up, ggml_tensor* down,
                      ggml_tensor* x, ggml_tensor* ids, ggml_tensor* slot_weights) {
  ggml_tensor* h = ggml_moe_up_gate(context, up, gate, x, ids, GGML_UNARY_OP_SILU);
  return ggml_mul_multi_add(context, ggml_mul_mat_id(context, down, h, ids), slot_weights);
}

// Its threads are OpenMP's: OMP_PROC_BIND gives each a core.
void set_threads(ggml_backend_t backend, int threads) {
  ggml_backend_cpu_set_n_threads(backend, threads);
}
#else
ggml_type type_called(const std::string& name) {
  if (name == "nvfp4") return GGML_TYPE_NVFP4;
  if (name == "mxfp4") return GGML_TYPE_MXFP4;
  if (name == "q4_0") return GGML_TYPE_Q4_0;
  fail("the type is nvfp4, mxfp4 or q4_0");
}

ggml_backend_buffer_type_t buffer_type(bool repack) {
  if (!repack) return ggml_backend_cpu_buffer_type();
  ggml_backend_reg_t reg = ggml_backend_cpu_reg();
  auto get = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts"));
  ggml_backend_buffer_type_t* types =
      get == nullptr ? nullptr : get(ggml_backend_reg_dev_get(reg, 0));
  for (; types != nullptr && *types != nullptr; ++types) {
    if (std::strstr(ggml_backend_buft_name(*types), "REPACK") != nullptr) return *types;
  }
  fail("this build has no repack buffer");
}

void quantize(const ggml_tensor* to, const std::vector<float>& values, void* out) {
  ggml_quantize_chunk(to->type, values.data(), out, 0, to->ne[1], to->ne[0], nullptr);
}

ggml_tensor* layer_of(ggml_context* context, ggml_tensor* gate, ggml_tensor* up, ggml_tensor* down,
                      ggml_tensor* x, ggml_tensor* ids, ggml_tensor* slot_weights) {
  ggml_tensor* h = ggml_swiglu_split(context, ggml_mul_mat_id(context, gate, x, ids),
                                     ggml_mul_mat_id(context, up, x, ids));
  ggml_tensor* y = ggml_mul(context, ggml_mul_mat_id(context, down, h, ids), slot_weights);
  ggml_tensor* sum = nullptr;
  for (int64_t slot = 0; slot < ids->ne[0]; ++slot) {
    ggml_tensor* part = ggml_view_2d(context, y, y->ne[0], y->ne[2], y->nb[2],
                                     static_cast<size_t>(slot) * y->nb[1]);
    sum = sum == nullptr ? part : ggml_add(context, sum, part);
  }
  return ids->ne[0] == 1 ? ggml_cont(context, sum) : sum;
}

// A thread to a core: two on one would wait for each other a time slice at every step.
void set_threads(ggml_backend_t backend, int threads) {
  ggml_backend_cpu_set_n_threads(backend, threads);
  ggml_threadpool_params pool = ggml_threadpool_params_default(threads);
  for (int i = 0; i < threads; ++i) pool.cpumask[i] = true;
  pool.strict_cpu = true;
  ggml_backend_cpu_set_threadpool(backend, ggml_threadpool_new(&pool));
}
#endif

// One expert of random values, repeated for all of them.
void fill(ggml_tensor* weights, std::mt19937& random) {
  const int64_t k = weights->ne[0];
  const int64_t rows = weights->ne[1];
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(static_cast<size_t>(k * rows));
  for (float& value : values) value = normal(random);
  const size_t bytes = ggml_row_size(weights->type, k) * static_cast<size_t>(rows);
  std::vector<char> all(bytes * static_cast<size_t>(weights->ne[2]));
  quantize(weights, values, all.data());
  for (int64_t e = 1; e < weights->ne[2]; ++e) {
    std::memcpy(all.data() + bytes * static_cast<size_t>(e), all.data(), bytes);
  }
  ggml_backend_tensor_set(weights, all.data(), 0, all.size());
}

struct Layer {
  Layer(const std::string& text, ggml_type type, bool repack) {
    long long n[4] = {};
    if (std::sscanf(text.c_str(), "%lldx%lldx%lldx%lld", &n[0], &n[1], &n[2], &n[3]) != 4) {
      fail("the layer is HIDDENxINTERMEDIATExEXPERTSxTOP_K");
    }
    shape = {n[0], n[1], n[2], n[3]};
    context = ggml_init(
        {.mem_size = ggml_tensor_overhead() * 8, .mem_buffer = nullptr, .no_alloc = true});
    gate = ggml_new_tensor_3d(context, type, shape.hidden, shape.inner, shape.experts);
    up = ggml_new_tensor_3d(context, type, shape.hidden, shape.inner, shape.experts);
    down = ggml_new_tensor_3d(context, type, shape.inner, shape.hidden, shape.experts);
    if (ggml_backend_alloc_ctx_tensors_from_buft(context, buffer_type(repack)) == nullptr) {
      fail("no memory for the weights");
    }
    std::mt19937 random(1);
    for (ggml_tensor* weights : {gate, up, down}) fill(weights, random);
  }

  Shape shape;
  ggml_context* context = nullptr;
  ggml_tensor* gate = nullptr;
  ggml_tensor* up = nullptr;
  ggml_tensor* down = nullptr;
};

// A call of so many tokens: a graph with its inputs.
struct Call {
  Call(const Layer& layer, int64_t tokens) : top_k(layer.shape.top_k), token_count(tokens) {
    const Shape& shape = layer.shape;
    context = ggml_init({.mem_size = ggml_tensor_overhead() * 64 + ggml_graph_overhead(),
                         .mem_buffer = nullptr,
                         .no_alloc = true});
    x = ggml_new_tensor_3d(context, GGML_TYPE_F32, shape.hidden, 1, tokens);
    ids = ggml_new_tensor_2d(context, GGML_TYPE_I32, top_k, tokens);
    slot_weights = ggml_new_tensor_3d(context, GGML_TYPE_F32, 1, top_k, tokens);
    graph = ggml_new_graph(context);
    ggml_build_forward_expand(
        graph, layer_of(context, layer.gate, layer.up, layer.down, x, ids, slot_weights));
    buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, ggml_backend_cpu_buffer_type());
    std::vector<float> values(static_cast<size_t>(shape.hidden * tokens));
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
    ggml_backend_tensor_set(x, values.data(), 0, values.size() * sizeof(float));
    const std::vector<float> even(static_cast<size_t>(top_k * tokens),
                                  1.0f / static_cast<float>(top_k));
    ggml_backend_tensor_set(slot_weights, even.data(), 0, even.size() * sizeof(float));
  }
  ~Call() {
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
  }

  int64_t top_k;
  int64_t token_count;
  ggml_context* context = nullptr;
  ggml_tensor* x = nullptr;
  ggml_tensor* ids = nullptr;
  ggml_tensor* slot_weights = nullptr;
  ggml_cgraph* graph = nullptr;
  ggml_backend_buffer_t buffer = nullptr;
};

// Different experts for the slots of a token, uniformly.
std::vector<int32_t> random_ids(const Shape& shape, int64_t tokens, std::mt19937& random) {
  std::vector<int32_t> order(static_cast<size_t>(shape.experts));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < tokens; ++t) {
    for (size_t s = 0; s < static_cast<size_t>(shape.top_k); ++s) {
      std::swap(order[s], order[s + random() % (order.size() - s)]);
      ids.push_back(order[s]);
    }
  }
  return ids;
}

std::vector<double> time_calls(ggml_backend_t backend, const Layer& layer, int64_t tokens,
                               double seconds) {
  using Clock = std::chrono::steady_clock;
  const Call call(layer, tokens);
  std::mt19937 random(3);
  std::vector<std::vector<int32_t>> sets;
  for (int i = 0; i < 32; ++i) sets.push_back(random_ids(layer.shape, tokens, random));
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0;
       samples.size() < 5 || Clock::now() - start < std::chrono::duration<double>(seconds); ++i) {
    const std::vector<int32_t>& ids = sets[i % sets.size()];
    ggml_backend_tensor_set(call.ids, ids.data(), 0, ids.size() * sizeof(int32_t));
    const Clock::time_point before = Clock::now();
    if (ggml_backend_graph_compute(backend, call.graph) != GGML_STATUS_SUCCESS) fail("compute");
    if (i > 0)
      samples.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) fail("TYPE[+repack] HIDDENxINTERMEDIATExEXPERTSxTOP_K THREADS SECONDS TOKENS...");
  const std::string name = argv[1];
  const bool repack = name.ends_with("+repack");
  const Layer layer(argv[2], type_called(name.substr(0, name.find('+'))), repack);
  ggml_backend_t backend = ggml_backend_cpu_init();
  const int threads = std::atoi(argv[3]);
  set_threads(backend, threads);
  for (int i = 5; i < argc; ++i) {
    std::vector<double> us = time_calls(backend, layer, std::atoll(argv[i]), std::atof(argv[4]));
    std::sort(us.begin(), us.end());
    std::printf(
        "{\"type\":\"%s\",\"layer\":\"%s\",\"tokens\":%s,\"median_us\":%.2f,\"calls\":%zu}\n",
        argv[1], argv[2], argv[i], us[us.size() / 2], us.size());
    std::fflush(stdout);
  }
}
