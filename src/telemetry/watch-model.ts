import { context, SpanKind, trace } from '@opentelemetry/api'
import type { Attributes, Context, Span } from '@opentelemetry/api'
import { instruments } from './instruments.js'
import { failSpan, tracer } from './spans.js'

/** The model of a request, by its provider's names. */
export interface AskedModel {
  /** The AI SDK's name. */
  readonly provider: string
  readonly model: string
}

/** The caller of a model: ids and registered names. */
export interface ModelCaller {
  readonly threadId: string
  readonly agent: string
  readonly prompt: string
  /** The name in the registry. */
  readonly model: string
}

/** The attributes of an answer: numbers and the provider's names, no content (T5). */
interface SeenAnswer {
  readonly finishReason: string
  readonly responseId: string | null
  readonly responseModel: string | null
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cachedInputTokens: number
  }
}

/** Spans and metrics of requests to models. Each request has a span of its own, because each may have a cost. */
export interface ModelWatch {
  begin(asked: AskedModel): void
  /** Records the time of the first token; later calls do nothing. */
  markToken(): void
  finish(answer: SeenAnswer): void
  /** Does nothing if no request is in flight. */
  fail(type: string): void
  /** Runs within the span of the request in flight, so that the provider's own spans become its children. */
  runWithin<T>(work: () => T): T
}

interface Request {
  readonly span: Span
  readonly context: Context
  readonly attributes: Attributes
  readonly since: number
  hasToken: boolean
}

export function watchModel(caller: ModelCaller): ModelWatch {
  const base = context.active()
  let open: Request | null = null

  function close(problem: string | null): Request | null {
    const request = open
    open = null
    if (request === null) return null
    const attributes = { ...request.attributes, ...(problem !== null && { 'error.type': problem }) }
    instruments().modelSeconds.record(secondsSince(request), attributes)
    return request
  }

  return {
    begin(asked) {
      open = beginRequest(base, caller, asked)
    },
    markToken() {
      if (open === null || open.hasToken) return
      open.hasToken = true
      instruments().firstTokenSeconds.record(secondsSince(open), open.attributes)
    },
    finish(answer) {
      const request = close(null)
      if (request === null) return
      countTokens(request, answer)
      request.span.setAttributes(answerAttributes(answer))
      request.span.end()
    },
    fail(type) {
      const request = close(type)
      if (request === null) return
      failSpan(request.span, type)
      request.span.end()
    },
    runWithin: (work) => (open === null ? work() : context.with(open.context, work)),
  }
}

function beginRequest(base: Context, caller: ModelCaller, { provider, model }: AskedModel): Request {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': model,
  }
  const of = {
    'gen_ai.conversation.id': caller.threadId,
    'gen_ai.agent.name': caller.agent,
    'everthread.prompt': caller.prompt,
    'everthread.model': caller.model,
  }
  const options = { kind: SpanKind.CLIENT, attributes: { ...attributes, ...of } }
  const span = tracer().startSpan(`chat ${model}`, options, base)
  return {
    span,
    context: trace.setSpan(base, span),
    attributes,
    since: performance.now(),
    hasToken: false,
  }
}

function answerAttributes({ finishReason, responseId, responseModel, usage }: SeenAnswer): Attributes {
  return {
    'gen_ai.response.finish_reasons': [finishReason],
    ...(responseId !== null && { 'gen_ai.response.id': responseId }),
    ...(responseModel !== null && { 'gen_ai.response.model': responseModel }),
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
  }
}

function countTokens({ attributes }: Request, { usage }: SeenAnswer): void {
  const { tokens } = instruments()
  tokens.record(usage.inputTokens, { ...attributes, 'gen_ai.token.type': 'input' })
  tokens.record(usage.outputTokens, { ...attributes, 'gen_ai.token.type': 'output' })
}

function secondsSince({ since }: Request): number {
  return (performance.now() - since) / 1000
}

/** OpenTelemetry's names for providers whose packages use another name. */
const NAMES: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  'amazon-bedrock': 'aws.bedrock',
  'azure-openai': 'azure.ai.openai',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** `openai` for `openai.responses`: the AI SDK appends the called service to the name of the provider. */
export function providerName(provider: string): string {
  const [name = provider] = provider.split('.')
  return NAMES[name] ?? name
}
