def custom_kernel(data: input_t) -> output_t:
    a, b1, b2, sfa, _, _, blocked_a, blocked_b1, blocked_b2, c = data
    multiply([Group(tokens=a, plain_scales=sfa, blocked_scales=blocked_a, weights=[(b1, blocked_b1), (b2, blocked_b2)],
                    c=c)])
    return c
