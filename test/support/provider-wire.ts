/** What a mocked provider answers: words of text, then tool calls whose `input` is raw JSON text. */
export interface WireAnswer {
  readonly text?: string
  readonly toolCalls?: readonly { readonly name: string; readonly input: string }[]
  /** Why it ends, where it is not by itself. */
  readonly endedBy?: 'filter' | 'length'
}

/** The words of the three formats for such an end. */
const ENDS = {
  filter: { chat: 'content_filter', responses: 'content_filter', anthropic: 'refusal' },
  length: { chat: 'length', responses: 'max_output_tokens', anthropic: 'max_tokens' },
} as const

/** The server-sent events of an answer in three acts, so that a stream can be cut between them. */
export interface WireEvents {
  /** What comes before any content: roles, ids, empty deltas. */
  readonly preamble: readonly string[]
  readonly content: readonly string[]
  readonly finish: readonly string[]
}

/** The wire formats that the mock speaks, by the path that asks for them. */
export const WIRE_FORMATS = {
  '/chat/completions': openaiChat,
  '/responses': openaiResponses,
  '/messages': anthropicMessages,
} as const

type Json = Readonly<Record<string, unknown>>

function openaiChat({ text, toolCalls = [], endedBy }: WireAnswer): WireEvents {
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
      ...words(text).map((content) => chunk({ delta: { content } })),
      ...toolCalls.flatMap(({ name, input }, index) => [
        toolChunk({ index, id: `call-${index}`, type: 'function', function: { name, arguments: '' } }),
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

function openaiResponses({ text, toolCalls = [], endedBy }: WireAnswer): WireEvents {
  const response = { id: 'answer-1', object: 'response', created_at: 1, model: 'mock', output: [] }
  const message = { type: 'message', id: 'message-1', role: 'assistant', content: [] }
  const usage = {
    input_tokens: 20,
    output_tokens: 7,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const firstTool = text === undefined ? 0 : 1
  const completed = { type: 'response.completed', response: { ...response, usage } }
  const incomplete = (reason: string): Json => ({
    type: 'response.incomplete',
    response: { ...response, usage, incomplete_details: { reason } },
  })
  return {
    preamble: ['response.created', 'response.in_progress'].map((type) => event({ type, response })),
    content: [
      ...(text === undefined
        ? []
        : [
            event({ type: 'response.output_item.added', output_index: 0, item: message }),
            ...words(text).map((delta) =>
              event({
                type: 'response.output_text.delta',
                item_id: message.id,
                output_index: 0,
                content_index: 0,
                delta,
              }),
            ),
            event({ type: 'response.output_item.done', output_index: 0, item: message }),
          ]),
      ...toolCalls.flatMap((call, index) => responsesToolCall(call, index, firstTool + index)),
    ],
    finish: [event(endedBy ? incomplete(ENDS[endedBy].responses) : completed)],
  }
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

function anthropicMessages({ text, toolCalls = [], endedBy }: WireAnswer): WireEvents {
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
  const firstTool = text === undefined ? 0 : 1
  return {
    preamble: [
      named({ type: 'message_start', message: { ...message, stop_reason: null } }),
      named({ type: 'ping' }),
    ],
    content: [
      ...(text === undefined ? [] : block(0, { type: 'text', text: '' }, textDeltas)),
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
