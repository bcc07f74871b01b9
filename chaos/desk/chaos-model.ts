import { setTimeout as delay } from 'node:timers/promises'

import { scriptedModel } from 'everthread/testing'
import type { ScriptedAnswer, ScriptedModel, ScriptedRequest } from 'everthread/testing'

import type { Deed } from './deeds.js'
import { hashedNumber } from './hashed-number.js'
import type { Journal } from './journal.js'
import { newNonce, noncesIn } from './nonce.js'
import { programsIn, refOf, refsIn } from './program.js'
import type { Program, ProgramCall } from './program.js'

/** Milliseconds before an answer begins, and between its words. */
const LONGEST_THOUGHT = 500
const LONGEST_WORD = 25

/**
 * A model that does what the programs of its messages say, in order, each call once: it looks at nothing but the request,
 * so that any worker goes on where another was killed. It writes down what it was asked before it answers.
 */
export function chaosModel(journal: Journal<Deed>): ScriptedModel {
  return scriptedModel(async (request) => {
    const nonce = newNonce()
    const texts = request.messages.map(({ text }) => text).join('\n')
    journal.write({
      kind: 'model',
      threadId: request.threadId ?? '',
      prompt: request.prompt ?? '',
      side: request.side ?? '',
      nonce,
      seen: noncesIn(texts),
      results: request.messages.flatMap(({ toolResults = [] }) => toolResults.map(({ id }) => id)),
      pid: process.pid,
    })
    // The same thought for the same question: an attempt takes as long as the one that was cut.
    const question = `${request.threadId} ${request.messages.length}`
    await delay(hashedNumber(question, LONGEST_THOUGHT), undefined, signalOf(request))
    const wordDelay = hashedNumber(`word ${question}`, LONGEST_WORD)
    return { wordDelay, ...answerTo(request, nonce) }
  })
}

function signalOf({ raw }: ScriptedRequest): { readonly signal?: AbortSignal } {
  return raw.abortSignal === undefined ? {} : { signal: raw.abortSignal }
}

/** The calls of the first step that has one which was not made, else words. */
function answerTo(request: ScriptedRequest, nonce: string): ScriptedAnswer {
  const words = wordsOf(request, nonce)
  if (request.prompt === 'observer') return { text: `Go on. ${words}` }
  const programs = request.messages.flatMap(({ role, text }) => (role === 'user' ? programsIn(text) : []))
  const made = new Set(request.messages.flatMap(({ toolCalls = [] }) => refsIn(JSON.stringify(toolCalls))))
  for (const program of programs) {
    const calls = nextCalls(program, made).flatMap((call) => resolved(call, request))
    if (calls.length > 0)
      return { text: words, toolCalls: calls.map(({ tool, args }) => ({ name: tool, args })) }
  }
  return { text: `All is done. ${words}` }
}

function nextCalls({ id, steps }: Program, made: ReadonlySet<string>): readonly ProgramCall[] {
  for (const [step, calls] of steps.entries()) {
    const open = calls.filter((_, index) => !made.has(refOf(id, step, index)))
    if (open.length > 0) return open
  }
  return []
}

/** `@name` stands for the reference of that instance; one that is not there is not called, and its step has fewer calls. */
function resolved(call: ProgramCall, { messages }: ScriptedRequest): readonly ProgramCall[] {
  const named = call.args['referenceId']
  if (typeof named !== 'string') return [call]
  const lines = messages.at(-1)?.text.split('\n') ?? []
  const line = lines.find((text) => text.startsWith('{') && text.includes(`"threadName":"${named.slice(1)}"`))
  if (line === undefined) return []
  const { reference } = JSON.parse(line) as { readonly reference: string }
  return [{ ...call, args: { ...call.args, referenceId: reference } }]
}

/** Enough of them that a kill meets some in the middle. */
function wordsOf({ threadId, messages }: ScriptedRequest, nonce: string): string {
  const count = 5 + hashedNumber(`count ${threadId} ${messages.length}`, 30)
  return `${nonce} ${Array.from({ length: count }, (_, index) => `word${index}`).join(' ')}.`
}
