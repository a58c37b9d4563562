// The header of a GGUF file, written as the format's description has it.

const TYPES = { text: 8, u32: 4, list: 9 };

/**
 * @param keys pairs of a key and a text, a whole number or a list of texts
 * @param tensors name, dimensions, number of the type
 */
export function ggufHeader(keys, tensors) {
    const parts = [];
    const number = (bytes, write) => {
        const view = new DataView(new ArrayBuffer(bytes));
        write(view);
        parts.push(new Uint8Array(view.buffer));
    };
    const u32 = value => number(4, view => view.setUint32(0, value, true));
    const u64 = value => number(8, view => view.setBigUint64(0, BigInt(value), true));
    const text = value => {
        const bytes = new TextEncoder().encode(value);
        u64(bytes.length);
        parts.push(bytes);
    };
    parts.push(new TextEncoder().encode('GGUF'));
    u32(3);
    u64(tensors.length);
    u64(keys.length);
    for (const [key, value] of keys) {
        text(key);
        if (typeof value === 'string') {
            u32(TYPES.text);
            text(value);
        } else if (Array.isArray(value)) {
            u32(TYPES.list);
            u32(TYPES.text);
            u64(value.length);
            value.forEach(text);
        } else {
            u32(TYPES.u32);
            u32(value);
        }
    }
    let offset = 0;
    for (const [name, dims, type, bytes] of tensors) {
        text(name);
        u32(dims.length);
        dims.forEach(u64);
        u32(type);
        u64(offset);
        offset += bytes;
    }
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const header = new Uint8Array(Math.ceil(length / 32) * 32);
    let at = 0;
    for (const part of parts) {
        header.set(part, at);
        at += part.length;
    }
    return { header, size: header.length + offset };
}

/** Llama 3.1 8B in Q8_0, with 3,000 words for its tokens. */
export function llamaHeader() {
    const dims = {
        block_count: 32,
        context_length: 131_072,
        embedding_length: 4096,
        'attention.head_count': 32,
        'attention.head_count_kv': 8,
        'rope.dimension_count': 128,
    };
    const keys = [
        ['general.architecture', 'llama'],
        ['general.name', 'Llama 3.1 8B'],
        ['general.file_type', 7],
        ...Object.entries(dims).map(([key, value]) => [`llama.${key}`, value]),
        ['tokenizer.ggml.tokens', Array.from({ length: 3000 }, (_, word) => `word ${word}`)],
    ];
    const tensor = (name, rows, columns) => [name, [rows, columns], 8, (rows * columns) / 32 * 34];
    return ggufHeader(keys, [
        tensor('token_embd.weight', 4096, 128_256),
        ...Array.from({ length: 32 }, (_, layer) => tensor(`blk.${layer}.ffn_up.weight`, 4096, 14_336)),
        tensor('output.weight', 4096, 128_256),
    ]);
}
