def custom_kernel(data: input_t) -> output_t:
    tensors, plain_scales, blocked_scales, _ = data
    multiply([Group(tokens=a, plain_scales=sfa, blocked_scales=blocked_a, weights=[(b, blocked_b)], c=c)
              for (a, b, c), (sfa, _), (blocked_a, blocked_b) in zip(tensors, plain_scales, blocked_scales)])
    return [c for _, _, c in tensors]
