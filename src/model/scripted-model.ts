import { setTimeout as sleepFor } from 'node:timers/promises'

import { ModelError } from './model-error.js'
import { replySource } from './reply-source.js'
import {
  scriptedContent,
  scriptedError,
  scriptedFinish,
  scriptedParts,
  scriptedUsage,
} from './scripted-answer.js'
import { toScriptedRequest } from './scripted-request.js'

import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { LanguageModel } from './language-model.js'
import type { ModelScript, ReplySource } from './reply-source.js'
import type { ScriptedAnswer } from './scripted-answer.js'
import type { ScriptedRequest } from './scripted-request.js'

export type { ModelScript, ScriptedReply } from './reply-source.js'

/** A language model that says what its script says, and remembers what it was asked. */
export interface ScriptedModel extends LanguageModel {
  /** Every request so far, also those that failed or came after the end of the script. */
  readonly requests: readonly ScriptedRequest[]
  /** How many replies of a list were never asked for; Infinity while a generator or function can go on. */
  readonly remaining: number
}

/**
 * Makes a deterministic language model for tests, demos and benches. It streams by words and honours its abort
 * signal; a request beyond the script fails with what was asked and is not retried.
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
  if (reply === undefined) throw beyondScript(request, number)
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

function beyondScript(request: ScriptedRequest, number: number): ModelError {
  const last = request.messages.at(-1)
  const message =
    `Expected at most ${number - 1} requests of this scripted model, got one more: prompt ` +
    `${JSON.stringify(request.prompt)}, side ${JSON.stringify(request.side)}, thread ` +
    `${JSON.stringify(request.threadId)}, last message ${JSON.stringify(last?.role)}: ` +
    `${JSON.stringify(last?.text.slice(0, 200))}. Add a reply to the script, or find out why it was asked.`
  return new ModelError({ kind: 'script_ended', message, retryable: false })
}
