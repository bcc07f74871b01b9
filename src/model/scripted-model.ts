import { setTimeout as sleepFor } from 'node:timers/promises'
import { APICallError } from '@ai-sdk/provider'
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { LanguageModel, ModelUsage } from './model-answer.js'
import { ModelError } from './model-error.js'
import { toScriptedRequest } from './scripted-request.js'
import type { ScriptedRequest } from './scripted-request.js'

/** A language model that answers from its script and records its requests. */
export interface ScriptedModel extends LanguageModel {
  /** Every request so far, also those that failed or came after the end of the script. */
  readonly requests: readonly ScriptedRequest[]
  /** The number of unused replies of a list; Infinity while a generator or function can go on. */
  readonly remaining: number
}

/**
 * Creates a deterministic language model for tests, demos and benchmarks. It streams word by word and honours its abort
 * signal. A request beyond the script fails with a description of that request and is not retried.
 */
export function scriptedModel(script: ModelScript): ScriptedModel {
  const source = replySource(script)
  const requests: ScriptedRequest[] = []
  const take = async (options: LanguageModelV4CallOptions): Promise<Reply> => {
    const request = toScriptedRequest(options)
    const number = requests.push(request)
    return { answer: await nextAnswer(source, request, number), id: `scripted-${number}` }
  }
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    requests,
    get remaining() {
      return source.remaining()
    },
    async doGenerate(options) {
      const { answer, id } = await take(options)
      return {
        content: scriptedContent(answer, id),
        finishReason: scriptedFinish(answer),
        usage: scriptedUsage(answer),
        response: { id },
        warnings: [],
      }
    },
    async doStream(options) {
      return { stream: streamOf(await take(options), options.abortSignal) }
    },
  }
}

interface Reply {
  readonly answer: ScriptedAnswer
  readonly id: string
}

async function nextAnswer(
  source: ReplySource,
  request: ScriptedRequest,
  number: number,
): Promise<ScriptedAnswer> {
  const reply = source.next()
  if (reply === undefined) throw scriptEndedError(request, number)
  const answer = typeof reply === 'function' ? await reply(request) : reply
  await pause(answer.delay, request.raw.abortSignal)
  if (answer.error) throw scriptedError(answer.error)
  return answer
}

function streamOf(
  { answer, id }: Reply,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = scriptedParts(answer, id)
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      const { value, done } = parts.next()
      if (done === true) {
        controller.close()
        return
      }
      const isWord = value.type === 'text-delta' || value.type === 'reasoning-delta'
      await pause(isWord ? answer.wordDelay : undefined, signal)
      controller.enqueue(value)
    },
  })
}

async function pause(milliseconds: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  if (milliseconds) await sleepFor(milliseconds, undefined, signal ? { signal } : {})
}

function scriptEndedError(request: ScriptedRequest, number: number): ModelError {
  const last = request.messages.at(-1)
  const message =
    `Expected at most ${number - 1} requests of this scripted model, got one more: prompt ` +
    `${JSON.stringify(request.prompt)}, side ${JSON.stringify(request.side)}, thread ` +
    `${JSON.stringify(request.threadId)}, last message ${JSON.stringify(last?.role)}: ` +
    `${JSON.stringify(last?.text.slice(0, 200))}. Add a reply to the script, or find out why it was asked.`
  return new ModelError({ kind: 'script_ended', message, retryable: false })
}

/** One answer of a scripted model. With `error` it fails as a provider that answers with this HTTP status. */
export interface ScriptedAnswer {
  readonly text?: string
  readonly reasoning?: string
  /** A string as `args` is sent as raw JSON text, so that a script can contain broken calls. */
  readonly toolCalls?: readonly { readonly name: string; readonly args?: unknown }[]
  /** Files that the model generates; `data` is base64 or bytes. */
  readonly files?: readonly { readonly mediaType: string; readonly data: string | Uint8Array }[]
  readonly usage?: Partial<ModelUsage>
  readonly error?: {
    readonly status: number
    readonly message: string
    readonly headers?: Readonly<Record<string, string>>
  }
  /** `length`: the limit of length truncates the answer after this content. */
  readonly endedBy?: 'length'
  /** Milliseconds before the answer begins. */
  readonly delay?: number
  /** Milliseconds before each further word of the answer. */
  readonly wordDelay?: number
}

/** The usage of every answer that names none. */
const DEFAULT_USAGE: ModelUsage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0 }

/** The whole content of the answer; the ids of its tool calls derive from `id`. */
function scriptedContent(answer: ScriptedAnswer, id: string): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = []
  if (answer.reasoning) content.push({ type: 'reasoning', text: answer.reasoning })
  if (answer.text) content.push({ type: 'text', text: answer.text })
  for (const { mediaType, data } of answer.files ?? [])
    content.push({ type: 'file', mediaType, data: { type: 'data', data } })
  for (const [index, { name, args }] of (answer.toolCalls ?? []).entries()) {
    content.push({
      type: 'tool-call',
      toolCallId: `${id}-call-${index}`,
      toolName: name,
      input: argsText(args),
    })
  }
  return content
}

/** The same content as a stream: text and reasoning word by word, then files and calls. */
function* scriptedParts(answer: ScriptedAnswer, id: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'response-metadata', id }
  for (const part of scriptedContent(answer, id)) {
    if (part.type === 'text' || part.type === 'reasoning') {
      yield { type: `${part.type}-start`, id: part.type }
      for (const word of part.text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []) {
        yield { type: `${part.type}-delta`, id: part.type, delta: word }
      }
      yield { type: `${part.type}-end`, id: part.type }
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName }
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input }
      yield { type: 'tool-input-end', id: part.toolCallId }
      yield part
    } else if (part.type === 'file') {
      yield part
    }
  }
  yield { type: 'finish', finishReason: scriptedFinish(answer), usage: scriptedUsage(answer) }
}

function scriptedFinish(answer: ScriptedAnswer): LanguageModelV4FinishReason {
  const unified = answer.endedBy ?? (answer.toolCalls?.length ? 'tool-calls' : 'stop')
  return { unified, raw: unified }
}

function scriptedUsage(answer: ScriptedAnswer): LanguageModelV4Usage {
  const { inputTokens, outputTokens, cachedInputTokens } = { ...DEFAULT_USAGE, ...answer.usage }
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - cachedInputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: 0,
    },
    outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
  }
}

/** The error that an AI SDK provider throws for such an answer. */
function scriptedError({ status, message, headers }: NonNullable<ScriptedAnswer['error']>): APICallError {
  return new APICallError({
    message,
    url: 'scripted:model',
    requestBodyValues: {},
    statusCode: status,
    ...(headers && { responseHeaders: { ...headers } }),
  })
}

function argsText(args: unknown): string {
  return typeof args === 'string' ? args : (JSON.stringify(args) ?? '{}')
}

type ReplyFunction = (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>

/** One answer of a script: data, or a function of the request. */
export type ScriptedReply = ScriptedAnswer | ReplyFunction

/** Replies in order, from a list or a generator; or one function that answers every request. */
export type ModelScript = readonly ScriptedReply[] | Iterator<ScriptedReply, unknown> | ReplyFunction

/** The source of a scripted model's replies. */
interface ReplySource {
  /** Undefined at the end of the script. */
  next(): ScriptedReply | undefined
  remaining(): number
}

/** Reads any form of script; a generator produces its next reply only when one is needed. */
function replySource(script: ModelScript): ReplySource {
  if (typeof script === 'function') return { next: () => script, remaining: () => Infinity }
  if ('next' in script) return iteratorSource(script)
  const replies = [...script]
  return { next: () => replies.shift(), remaining: () => replies.length }
}

function iteratorSource(iterator: Iterator<ScriptedReply, unknown>): ReplySource {
  let hasEnded = false
  return {
    next() {
      const result = iterator.next()
      if (result.done !== true) return result.value
      hasEnded = true
      return undefined
    },
    remaining: () => (hasEnded ? 0 : Infinity),
  }
}
