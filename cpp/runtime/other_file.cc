#include "cpp/runtime/other_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lane {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::string_view kCompressed = "a compressed file or an archive: unpack it";
constexpr std::string_view kPickle = "a checkpoint of PyTorch's: convert it to GGUF";
constexpr std::string_view kOlder = "a model of ggml's from before GGUF: convert it, or fetch it as GGUF";
constexpr std::string_view kPage = "a page, as a server sends in place of a file: fetch the file itself";
constexpr std::string_view kText = "a text, not a model";
constexpr std::string_view kProgram = "a program, not a model";

constexpr Beginning kBeginnings[] = {
    {"version https://git-lfs.github.com/"sv, "a pointer of git-lfs, not the file: fetch that with git lfs pull"},
    {"PK\3\4"sv, "a zip archive, as PyTorch's checkpoints are: convert it to GGUF, or unpack it"},
    {"PK\5\6"sv, kCompressed},
    {"\x1f\x8b"sv, kCompressed},
    {"\xfd\x37zXZ\0"sv, kCompressed},
    {"\x28\xb5\x2f\xfd"sv, kCompressed},
    {"BZh"sv, kCompressed},
    {"7z\xbc\xaf\x27\x1c"sv, kCompressed},
    {"\x80\2"sv, kPickle},
    {"\x80\3"sv, kPickle},
    {"\x80\4"sv, kPickle},
    {"\x80\5"sv, kPickle},
    {"\x89HDF"sv, "an HDF5 file: convert it to GGUF"},
    {"lmgg"sv, kOlder},
    {"fmgg"sv, kOlder},
    {"tjgg"sv, kOlder},
    {"algg"sv, "an adapter of ggml's from before GGUF, not a model"},
    {"FUGG"sv, "a GGUF file of the other byte order: convert it"},
    {"\x7f"
     "ELF"sv,
     kProgram},
    {"MZ"sv, kProgram},
    {"#!"sv, kProgram},
    {"\0\0\0\0\0\0\0\0"sv, "empty at its start, as a download that was given its room and not filled: fetch it anew"},
};

constexpr size_t kTarMagicAt = 257;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool begins_in_any_case(std::string_view text, std::string_view lower) {
  const auto same = [](char found, char wanted) {
    return (found >= 'A' && found <= 'Z' ? found + 32 : found) == wanted;
  };
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(),
                                                   [&](char wanted, char found) { return same(found, wanted); });
}

// The length of its header, then the header, which is JSON.
bool is_safetensors(std::string_view text) {
  uint64_t header_bytes = 0;
  if (text.size() < sizeof header_bytes + 2) return false;
  std::memcpy(&header_bytes, text.data(), sizeof header_bytes);
  return header_bytes <= text.size() - sizeof header_bytes && text[sizeof header_bytes] == '{';
}

}  // namespace

std::string_view describe_other_file(std::span<const std::byte> bytes) {
  std::string_view text = text_of(bytes);
  for (const Beginning& beginning : kBeginnings) {
    if (text.starts_with(beginning.bytes)) return beginning.what;
  }
  if (is_safetensors(text)) return "a safetensors file: convert it to GGUF";
  if (text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with("ustar")) return kCompressed;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view page : {"<!doctype"sv, "<html"sv, "<head"sv, "<?xml"sv, "<!--"sv}) {
    if (begins_in_any_case(text, page)) return kPage;
  }
  return text.starts_with('{') ? kText : "";
}

}  // namespace lane
