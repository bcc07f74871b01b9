import type { IncomingMessage } from 'node:http'

/** The fields of a request in OpenAI's chat completions format that the model reads. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly { readonly text?: string }[] | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
  readonly tool_call_id?: string
}

export interface ChatAnswer {
  readonly text: string
  readonly call?: { readonly name: string; readonly args: object }
}

export async function readChatRequest(request: IncomingMessage): Promise<ChatRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest
}

export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

/** The server-sent events of an answer: one for each word, then the tool call, then how it ended. */
export function chatEvents(request: ChatRequest, { text, call }: ChatAnswer): readonly string[] {
  const words = text.match(/\s*\S+/g) ?? []
  const input = request.messages.map(textOf).join(' ').split(/\s+/).length
  const id = `call-${request.messages.length}`
  const calls = call && [
    { index: 0, id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } },
  ]
  return [
    ...words.map((content) => event({ delta: { role: 'assistant', content } })),
    ...(calls ? [event({ delta: { tool_calls: calls } })] : []),
    event({ delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }),
    event({ delta: {} }, { prompt_tokens: input, completion_tokens: words.length }),
    'data: [DONE]\n\n',
  ]
}

function event(choice: object, usage?: object): string {
  const chunk = { id: 'demo', object: 'chat.completion.chunk', created: 0, model: 'demo' }
  const rest = usage ? { choices: [], usage } : { choices: [{ index: 0, finish_reason: null, ...choice }] }
  return `data: ${JSON.stringify({ ...chunk, ...rest })}\n\n`
}
