#include "strata/mesh/exchange_plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include "strata/runtime/allocator.h"

namespace strata {

/// A message: the copies between memory of the tensor and a buffer.
struct PlannedMessage {
  std::int64_t peer = 0;
  std::int64_t elements = 0;
  std::vector<BoxCopy> copies;
  std::int64_t begin = -1;  // in the caller's memory, where the message lies there as it is; -1: in a buffer
};

namespace {

std::int64_t bytes_of(std::int64_t elements, std::int64_t itemsize) {
  std::int64_t out = 0;
  STRATA_CHECK(try_mul(elements, itemsize, out), overflow, "[mesh] ", elements, " elements of ", itemsize,
               " bytes leave 64 bits");
  return out;
}

std::int64_t total_of(const std::vector<PlannedMessage>& messages) {
  std::int64_t out = 0;
  for (const PlannedMessage& m : messages) out += m.elements;
  return out;
}

std::int64_t buffered(const std::vector<PlannedMessage>& messages) {
  return std::count_if(messages.begin(), messages.end(), [](const PlannedMessage& m) { return m.begin < 0; });
}

/// `box` as far as it is in the disjoint boxes of `parts`; nothing beyond the limits of messages.
std::optional<std::vector<StridedBox>> common(const StridedBox& box, const std::vector<AxisPart>& parts) {
  std::vector<AxisPart> out(parts.size());
  std::size_t boxes = 1;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    for (const Stripes& s : parts[j]) {
      const auto both = intersection(s, box[j], kMostMessageStripes);
      if (!both) return std::nullopt;
      out[j].insert(out[j].end(), both->begin(), both->end());
    }
    boxes = std::min(boxes * out[j].size(), kMostMessageBoxes + 1);
  }
  if (boxes > kMostMessageBoxes) return std::nullopt;
  return boxes_of(out);
}

Hash128 hash_of(const std::string& text) { return hash128(std::as_bytes(std::span(text))); }

}  // namespace

struct ExchangePlan::Parts {
  Mesh mesh;
  std::int64_t itemsize = 1;
  StridedBox box;
  std::int64_t tensor_elements = 0, result_elements = 0;
  std::shared_ptr<const std::string> words;  // before the description
  Hash128 hash;                              // of both shardings, the loads, the itemsize
  std::vector<PlannedMessage> sent, received;
  std::vector<BoxCopy> own;
};

namespace {

/// The copies of a message, out of the tensor's memory or into the result's.
PlannedMessage planned(const Message& message, std::int64_t peer, const Arrangement& memory, bool is_sent) {
  PlannedMessage out{peer, 0, {}, -1};
  for (const StridedBox& box : message.boxes) {
    const Arrangement buffer = Arrangement::message(box, out.elements);
    out.copies.push_back(is_sent ? BoxCopy(box, memory, buffer) : BoxCopy(box, buffer, memory));
    out.elements += volume(box, "mesh");
  }
  if (out.copies.size() != 1) return out;
  const BoxCopy& only = out.copies[0];
  if (const auto begin = only.contiguous_from(); begin && only.elements() == out.elements)
    out.begin = is_sent ? *begin : only.contiguous_to();
  return out;
}

/// The copies of what a rank both owns and needs.
std::vector<BoxCopy> own_copies(const Exchange& exchange, std::int64_t rank, const Arrangement& from,
                                const Arrangement& to) {
  const std::vector<AxisPart> owned = exchange.tensor().owned(rank);
  std::vector<BoxCopy> out;
  for (const StridedBox& box : exchange.need(rank).boxes) {
    auto both = common(box, owned);
    if (!both) both = {box};  // what it does not own is left out
    for (const StridedBox& part : *both) out.emplace_back(part, from, to);
  }
  return out;
}

std::string loads_text(const Exchange& exchange) {
  std::string out;
  for (const ShapeTracker& read : exchange.reads()) out += read.render() + ";";
  return out;
}

std::string sharding_text(const Sharding& s) { return s.splits() ? render(*s.splits()) : render(s.layout()); }

}  // namespace

ExchangePlan ExchangePlan::make(const Mesh& mesh, const Exchange& exchange, bool into_box, std::int64_t itemsize) {
  const Sharding& tensor = exchange.tensor();
  STRATA_CHECK(tensor.mesh() == mesh.shape(), domain, "[mesh] shardings on ", render(tensor.mesh()), ", on the mesh ",
               render(mesh.shape()));
  STRATA_CHECK(itemsize >= 1, domain, "[mesh] elements of ", itemsize, " bytes: at least 1");
  const auto parts = std::make_shared<Parts>(Parts{mesh, itemsize, {}, 0, 0, {}, {}, {}, {}, {}});
  const std::int64_t rank = mesh.rank();
  const Arrangement from = Arrangement::local(tensor, rank);
  const std::vector<StridedBox> needed = into_box ? exchange.need(rank).boxes : std::vector<StridedBox>();
  if (!needed.empty()) parts->box = hull(needed);
  const Arrangement to = into_box ? Arrangement::dense(parts->box) : Arrangement::local(exchange.result(), rank);
  parts->tensor_elements = tensor.layout().mode(1).size().value();
  parts->result_elements = !into_box        ? exchange.result().layout().mode(1).size().value()
                           : needed.empty() ? 0
                                            : volume(parts->box, "mesh");
  bytes_of(parts->tensor_elements, itemsize), bytes_of(parts->result_elements, itemsize);
  parts->words = std::make_shared<std::string>(
      detail::message(into_box ? "exchange " : "redistribute ", render(tensor.shape()), " of ", itemsize,
                      " bytes from ", sharding_text(tensor), " to ", sharding_text(exchange.result()), ": "));
  parts->hash = hash_of(detail::message(render(tensor.layout()), render(tensor.padded_shape()),
                                        render(exchange.result().layout()), render(exchange.result().padded_shape()),
                                        render(exchange.result().shape()), into_box ? loads_text(exchange) : "", "; ",
                                        itemsize, "; ", render(mesh.shape())));
  for (const Message& m : exchange.sent(rank)) parts->sent.push_back(planned(m, m.to, from, true));
  for (const Message& m : exchange.received(rank)) parts->received.push_back(planned(m, m.from, to, false));
  parts->own = own_copies(exchange, rank, from, to);
  return ExchangePlan(parts);
}

ExchangePlan ExchangePlan::redistribution(const Mesh& mesh, const Sharding& from, const Sharding& to,
                                          std::int64_t itemsize) {
  return make(mesh, Exchange::between(from, to), false, itemsize);
}

ExchangePlan ExchangePlan::into_box(const Mesh& mesh, const Exchange& exchange, std::int64_t itemsize) {
  return make(mesh, exchange, true, itemsize);
}

const StridedBox& ExchangePlan::box() const { return parts_->box; }
std::int64_t ExchangePlan::bytes_of_tensor() const { return parts_->tensor_elements * parts_->itemsize; }
std::int64_t ExchangePlan::bytes_of_result() const { return parts_->result_elements * parts_->itemsize; }
std::int64_t ExchangePlan::bytes_sent() const { return total_of(parts_->sent) * parts_->itemsize; }
std::int64_t ExchangePlan::bytes_received() const { return total_of(parts_->received) * parts_->itemsize; }
std::int64_t ExchangePlan::packed() const { return buffered(parts_->sent); }
std::int64_t ExchangePlan::unpacked() const { return buffered(parts_->received); }

// --- execution ---

class Pending::Work {
 public:
  Work(std::shared_ptr<const ExchangePlan::Parts> parts, const void* tensor, void* result, StepText text)
      : parts_(std::move(parts)),
        tensor_(static_cast<const std::byte*>(tensor)),
        result_(static_cast<std::byte*>(result)),
        step_(parts_->mesh.shared_world(), std::move(text)) {
    prepare();
  }

  bool progress() {
    if (is_done_) return true;
    if (!has_sent_ && !step_.has_agreed()) return false;
    if (!has_sent_) send();
    std::erase_if(under_way_, [this](const UnderWay& m) {
      if (!step_.is_done(m.message)) return false;
      if (m.unpacks) unpack(*m.planned, static_cast<const std::byte*>(m.buffer.get()));
      return true;
    });
    if (!under_way_.empty()) return false;
    for (const BoxCopy& copy : parts_->own) copy.run(tensor_, result_, parts_->itemsize);
    step_.finish();
    return is_done_ = true;
  }
  Step& step() { return step_; }

 private:
  struct UnderWay {
    const PlannedMessage* planned = nullptr;
    std::size_t message = 0;
    std::shared_ptr<void> buffer;
    bool unpacks = false;
  };

  std::uint64_t size_of(const PlannedMessage& m) const {
    return static_cast<std::uint64_t>(m.elements * parts_->itemsize);
  }
  static std::shared_ptr<void> buffer_of(std::uint64_t bytes) {
    return {Allocator::host().allocate(bytes), [bytes](void* block) { Allocator::host().free(block, bytes); }};
  }

  /// Receives need no agreement.
  void prepare() {
    under_way_.reserve(parts_->sent.size() + parts_->received.size());
    for (const PlannedMessage& m : parts_->received) {
      const std::uint64_t bytes = size_of(m);
      const std::shared_ptr<void> buffer = m.begin < 0 ? buffer_of(bytes) : nullptr;
      void* const at = buffer ? buffer.get() : result_ + m.begin * parts_->itemsize;
      under_way_.push_back({&m, step_.receive(m.peer, at, bytes, buffer), buffer, buffer != nullptr});
    }
  }

  /// A message is sent as soon as it is packed.
  void send() {
    has_sent_ = true;
    for (const PlannedMessage& m : parts_->sent) {
      const std::shared_ptr<void> buffer = m.begin < 0 ? buffer_of(size_of(m)) : nullptr;
      for (const BoxCopy& copy : m.copies)
        if (buffer) copy.run(tensor_, buffer.get(), parts_->itemsize);
      const void* const at = buffer ? buffer.get() : tensor_ + m.begin * parts_->itemsize;
      under_way_.push_back({&m, step_.send(m.peer, at, size_of(m), buffer), nullptr, false});
    }
  }

  void unpack(const PlannedMessage& m, const std::byte* buffer) {
    for (const BoxCopy& copy : m.copies) copy.run(buffer, result_, parts_->itemsize);
  }

  std::shared_ptr<const ExchangePlan::Parts> parts_;
  const std::byte* tensor_;
  std::byte* result_;
  Step step_;
  bool has_sent_ = false, is_done_ = false;
  std::vector<UnderWay> under_way_;
};

Pending::Pending(std::unique_ptr<Work> work) : work_(std::move(work)) {}
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;
Pending::~Pending() = default;

bool Pending::progress() { return work_->progress(); }
void Pending::wait() {
  work_->step().wait([this] { return work_->progress(); });
}

void wait_all(std::vector<Pending>& pending) {
  if (pending.empty()) return;
  std::size_t first = 0;  // of those that are not done
  while (first < pending.size()) {
    pending[first].work_->step().wait([&] {
      bool is_done = false;
      for (std::size_t i = first; i < pending.size(); ++i)
        if (pending[i].progress() && i == first) is_done = true;
      return is_done;
    });
    ++first;
  }
}

Pending ExchangePlan::start(const void* tensor, void* result, std::string_view description, Place place) const {
  StepText text{std::string(description), place, parts_->words, parts_->hash};
  return Pending(std::make_unique<Pending::Work>(parts_, tensor, result, std::move(text)));
}

void ExchangePlan::run(const void* tensor, void* result, std::string_view description, Place place) const {
  start(tensor, result, description, place).wait();
}

Sharding replicated(const MeshShape& mesh, const Index& shape) {
  return Sharding::create(mesh, shape, std::vector<Split>());
}

}  // namespace strata
