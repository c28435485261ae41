// SPDX-License-Identifier: Apache-2.0
// docs/checkpoints.md, a layer from a file in C: one expert of a Mixtral, all of one value.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thresher/checkpoint.h>
// head

static void need(thresher_status status) {
  if (status == THRESHER_OK) return;
  fprintf(stderr, "thresher: %s\n", thresher_last_error());
  exit(1);
}

static char json[4096], data[4096];
static size_t data_bytes;

static void add(int w, const char* part, const char* type, const char* shape, size_t bytes) {
  const size_t end = data_bytes + bytes;
  memset(data + data_bytes, '8',
         bytes);  // codes, E4M3 scales and an F32 scale that are good numbers
  sprintf(json + strlen(json),
          "%s\"model.layers.0.block_sparse_moe.experts.0.w%d.%s\":{\"dtype\":\"%s\",\"shape\":%s,"
          "\"data_offsets\":[%zu,%zu]}",
          json[1] == '\0' ? "" : ",", w, part, type, shape, data_bytes, end);
  data_bytes = end;
}

static void write_checkpoint(const char* path) {
  json[0] = '{';
  for (int w = 1; w <= 3; ++w) {
    add(w, "weight", "U8", "[32,16]", 512);
    add(w, "weight_scale", "F8_E4M3", "[32,2]", 64);
    add(w, "weight_scale_2", "F32", "[]", 4);
  }
  strcat(json, "}");
  FILE* file = fopen(path, "wb");
  if (file == NULL) exit(1);
  for (int i = 0; i < 8; ++i) fputc((int)(strlen(json) >> (8 * i)) & 0xff, file);
  fwrite(json, 1, strlen(json), file);
  fwrite(data, 1, data_bytes, file);
  fclose(file);
}

int main(void) {
  const char* path = "/tmp/thresher_snippet_c.safetensors";
  write_checkpoint(path);
  thresher_engine* engine;
  need(thresher_engine_create(NULL, &engine));

  // body

  const int wrong = thresher_moe_hidden(experts) != 32 || thresher_moe_tokens_max(experts) != 256;
  thresher_moe_destroy(experts);
  thresher_engine_destroy(engine);
  remove(path);
  return wrong;
}
