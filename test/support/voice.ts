import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedModel, ScriptedReply } from '../../src/testing/index.js'

/** A model that many tests share, one after another: each says first what it is to say. */
export interface Voice {
  readonly model: ScriptedModel
  /** Forgets what was left of the last script. */
  says(...replies: readonly ScriptedReply[]): void
}

export function createVoice(): Voice {
  let script: ScriptedReply[] = []
  function* replies(): Generator<ScriptedReply, never> {
    for (;;) yield script.shift() ?? { text: 'That is all.' }
  }
  return {
    model: scriptedModel(replies()),
    says(...next) {
      script = [...next]
    },
  }
}
