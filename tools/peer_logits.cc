// The peer's logits at every position of a sequence: peer_logits MODEL CONTEXT TOKEN... writes them to stdout as f32.
// Caches are f32 and attention is plain, so that on a file of floats all of llama.cpp's arithmetic is in floats.
#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: peer_logits MODEL CONTEXT TOKEN...\n"), 2;
  std::vector<llama_token> tokens;
  for (int i = 3; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
  const int count = static_cast<int>(tokens.size());

  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = std::atoi(argv[2]);
  params.n_batch = params.n_ubatch = count;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = tokens[i];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) return 1;
  const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  for (int i = 0; i < count; ++i) std::fwrite(llama_get_logits_ith(context, i), sizeof(float), vocab, stdout);
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
}
