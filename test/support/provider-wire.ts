/**
 * What a mocked provider answers, in this order: reasoning, words of text, files, then tool calls whose `input` is raw JSON text.
 * A signature is what the provider wants back; each format has it in its own place.
 */
export interface WireAnswer {
  readonly reasoning?: { readonly text: string; readonly signature: string }
  readonly text?: string
  /** OpenAI's responses only: whether the text is a comment on the way or the answer. */
  readonly phase?: string
  /** Google only: base64. */
  readonly files?: readonly {
    readonly mediaType: string
    readonly data: string
    readonly signature?: string
  }[]
  readonly toolCalls?: readonly WireCall[]
  /** Why it ends, where it is not by itself. */
  readonly endedBy?: 'filter' | 'length'
}

export interface WireCall {
  readonly name: string
  readonly input: string
  /** Gemini's, also where it is asked in OpenAI's words. */
  readonly signature?: string
}

/** The words of the formats for such an end. */
const ENDS = {
  filter: { chat: 'content_filter', responses: 'content_filter', anthropic: 'refusal', google: 'SAFETY' },
  length: { chat: 'length', responses: 'max_output_tokens', anthropic: 'max_tokens', google: 'MAX_TOKENS' },
} as const

/** The server-sent events of an answer in three acts, so that a stream can be cut between them. */
export interface WireEvents {
  /** What comes before any content: roles, ids, empty deltas. */
  readonly preamble: readonly string[]
  readonly content: readonly string[]
  readonly finish: readonly string[]
}

/** The wire formats that the mock speaks, by how the path that asks for them ends. */
export const WIRE_FORMATS = {
  '/chat/completions': openaiChat,
  '/responses': openaiResponses,
  '/messages': anthropicMessages,
  ':streamGenerateContent?alt=sse': googleContent,
} as const

type Json = Readonly<Record<string, unknown>>

function openaiChat({ reasoning, text, toolCalls = [], endedBy }: WireAnswer): WireEvents {
  const end = toolCalls.length > 0 ? 'tool_calls' : 'stop'
  const chunk = (choice: Json, rest: Json = {}): string =>
    event({
      id: 'answer-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'mock',
      choices: [{ index: 0, finish_reason: null, ...choice }],
      ...rest,
    })
  const toolChunk = (call: Json): string => chunk({ delta: { tool_calls: [call] } })
  return {
    preamble: [chunk({ delta: { role: 'assistant', content: '' } })],
    content: [
      ...words(reasoning?.text).map((word) => chunk({ delta: { reasoning_content: word } })),
      ...words(text).map((content) => chunk({ delta: { content } })),
      ...toolCalls.flatMap(({ name, input, signature }, index) => [
        toolChunk({
          ...{ index, id: `call-${index}`, type: 'function', function: { name, arguments: '' } },
          ...(signature && { extra_content: { google: { thought_signature: signature } } }),
        }),
        ...halves(input).map((part) => toolChunk({ index, function: { arguments: part } })),
      ]),
    ],
    finish: [
      chunk({ delta: {}, finish_reason: endedBy ? ENDS[endedBy].chat : end }),
      chunk({ delta: {} }, { choices: [], usage: chatUsage }),
      'data: [DONE]\n\n',
    ],
  }
}

const chatUsage = { prompt_tokens: 20, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 4 } }

function openaiResponses({ reasoning, text, phase, toolCalls = [], endedBy }: WireAnswer): WireEvents {
  const response = { id: 'answer-1', object: 'response', created_at: 1, model: 'mock', output: [] }
  const message = { type: 'message', id: 'message-1', role: 'assistant', content: [], phase }
  const usage = {
    input_tokens: 20,
    output_tokens: 7,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const textIndex = reasoning === undefined ? 0 : 1
  const firstTool = textIndex + (text === undefined ? 0 : 1)
  const completed = { type: 'response.completed', response: { ...response, usage } }
  const incomplete = (reason: string): Json => ({
    type: 'response.incomplete',
    response: { ...response, usage, incomplete_details: { reason } },
  })
  return {
    preamble: ['response.created', 'response.in_progress'].map((type) => event({ type, response })),
    content: [
      ...(reasoning === undefined ? [] : responsesReasoning(reasoning)),
      ...(text === undefined
        ? []
        : [
            event({ type: 'response.output_item.added', output_index: textIndex, item: message }),
            ...words(text).map((delta) =>
              event({
                type: 'response.output_text.delta',
                item_id: message.id,
                output_index: textIndex,
                content_index: 0,
                delta,
              }),
            ),
            event({ type: 'response.output_item.done', output_index: textIndex, item: message }),
          ]),
      ...toolCalls.flatMap((call, index) => responsesToolCall(call, index, firstTool + index)),
    ],
    finish: [event(endedBy ? incomplete(ENDS[endedBy].responses) : completed)],
  }
}

/** In two parts, as a longer summary comes. */
function responsesReasoning({ text, signature }: NonNullable<WireAnswer['reasoning']>): readonly string[] {
  const item = { type: 'reasoning', id: 'reasoning-1', summary: [] }
  const place = { item_id: item.id, output_index: 0 }
  return [
    event({ type: 'response.output_item.added', output_index: 0, item }),
    ...halves(text).flatMap((delta, index) => {
      const part = { ...place, summary_index: index }
      return [
        event({ type: 'response.reasoning_summary_part.added', ...part }),
        event({ type: 'response.reasoning_summary_text.delta', ...part, delta }),
        event({ type: 'response.reasoning_summary_part.done', ...part }),
      ]
    }),
    event({
      ...{ type: 'response.output_item.done', output_index: 0 },
      item: { ...item, encrypted_content: signature },
    }),
  ]
}

function responsesToolCall(
  { name, input }: { readonly name: string; readonly input: string },
  index: number,
  outputIndex: number,
): readonly string[] {
  const place = { item_id: `item-${index}`, output_index: outputIndex }
  const item = { type: 'function_call', id: place.item_id, call_id: `call-${index}`, name, arguments: '' }
  const done = { ...item, arguments: input, status: 'completed' }
  return [
    event({ type: 'response.output_item.added', output_index: outputIndex, item }),
    ...halves(input).map((delta) =>
      event({ type: 'response.function_call_arguments.delta', ...place, delta }),
    ),
    event({ type: 'response.function_call_arguments.done', ...place, arguments: input }),
    event({ type: 'response.output_item.done', output_index: outputIndex, item: done }),
  ]
}

function anthropicMessages({ reasoning, text, toolCalls = [], endedBy }: WireAnswer): WireEvents {
  const end = toolCalls.length > 0 ? 'tool_use' : 'end_turn'
  const block = (index: number, contentBlock: Json, deltas: readonly Json[]): readonly string[] => [
    named({ type: 'content_block_start', index, content_block: contentBlock }),
    ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
    named({ type: 'content_block_stop', index }),
  ]
  const usage = {
    input_tokens: 16,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  }
  const message = { id: 'answer-1', type: 'message', role: 'assistant', model: 'mock', content: [], usage }
  const textDeltas = words(text).map((word) => ({ type: 'text_delta', text: word }))
  const textIndex = reasoning === undefined ? 0 : 1
  const firstTool = textIndex + (text === undefined ? 0 : 1)
  const thinking = [
    ...words(reasoning?.text).map((word) => ({ type: 'thinking_delta', thinking: word })),
    { type: 'signature_delta', signature: reasoning?.signature },
  ]
  return {
    preamble: [
      named({ type: 'message_start', message: { ...message, stop_reason: null } }),
      named({ type: 'ping' }),
    ],
    content: [
      ...(reasoning === undefined
        ? []
        : block(0, { type: 'thinking', thinking: '', signature: '' }, thinking)),
      ...(text === undefined ? [] : block(textIndex, { type: 'text', text: '' }, textDeltas)),
      ...toolCalls.flatMap(({ name, input }, index) =>
        block(
          firstTool + index,
          { type: 'tool_use', id: `call-${index}`, name, input: {} },
          halves(input).map((part) => ({ type: 'input_json_delta', partial_json: part })),
        ),
      ),
    ],
    finish: [
      named({
        type: 'message_delta',
        delta: { stop_reason: endedBy ? ENDS[endedBy].anthropic : end, stop_sequence: null },
        usage: { output_tokens: 7 },
      }),
      named({ type: 'message_stop' }),
    ],
  }
}

function googleContent({ reasoning, text, files = [], toolCalls = [], endedBy }: WireAnswer): WireEvents {
  const chunk = (candidate: Json, rest: Json = {}): string =>
    event({ responseId: 'answer-1', modelVersion: 'mock', candidates: [{ index: 0, ...candidate }], ...rest })
  const part = (content: Json): string => chunk({ content: { role: 'model', parts: [content] } })
  return {
    preamble: [event({ responseId: 'answer-1', modelVersion: 'mock' })],
    content: [
      ...words(reasoning?.text).map((word) => part({ text: word, thought: true })),
      ...words(text).map((word) => part({ text: word })),
      ...files.map(({ mediaType, data, signature }) =>
        part({ inlineData: { mimeType: mediaType, data }, thoughtSignature: signature }),
      ),
      ...toolCalls.map(({ name, input, signature }) =>
        part({ functionCall: { name, args: JSON.parse(input) as Json }, thoughtSignature: signature }),
      ),
    ],
    finish: [
      chunk(
        { content: { role: 'model', parts: [] }, finishReason: endedBy ? ENDS[endedBy].google : 'STOP' },
        {
          usageMetadata: {
            ...{ promptTokenCount: 20, candidatesTokenCount: 7 },
            ...{ cachedContentTokenCount: 4, totalTokenCount: 27 },
          },
        },
      ),
    ],
  }
}

function event(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function named(data: Json): string {
  return `event: ${String(data['type'])}\n${event(data)}`
}

function words(text: string | undefined): readonly string[] {
  return text?.match(/\s*\S+/g) ?? []
}

function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}
