import type { ScriptedAnswer } from './scripted-answer.js'
import type { ScriptedRequest } from './scripted-request.js'

type ReplyFunction = (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>

/** One answer of a script: data, or a function of the request. */
export type ScriptedReply = ScriptedAnswer | ReplyFunction

/** Replies in order, from a list or a generator; or one function that answers every request. */
export type ModelScript = readonly ScriptedReply[] | Iterator<ScriptedReply, unknown> | ReplyFunction

/** Where a scripted model takes its replies from. */
export interface ReplySource {
  /** Undefined at the end of the script. */
  next(): ScriptedReply | undefined
  remaining(): number
}

/** Reads any form of script; a generator is asked for its next reply only when one is needed. */
export function replySource(script: ModelScript): ReplySource {
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
