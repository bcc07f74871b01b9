import type { ThreadStateParts } from './thread-state-members.js'

interface RelativeLimits {
  readonly threadId: string
  /** It can be read, and takes nothing any more. */
  readonly isClosed: boolean
  /** It has not started, so its workflow cannot be told anything. */
  readonly isDeferred: boolean
  readonly onWrite: () => void
  /** @throws a sentence when the call has asked too much of other threads */
  readonly countTell: () => void
}

type Work<Given extends readonly unknown[], Result> = (...given: Given) => Result

/**
 * What code of one thread may do to another: all that is committed with its own outcome. What the workflow of that thread
 * has to be told is counted.
 */
export function relativeParts(
  parts: ThreadStateParts,
  { threadId, isClosed, isDeferred, onWrite, countTell }: RelativeLimits,
): ThreadStateParts {
  function write<Given extends readonly unknown[], Result>(work: Work<Given, Result>): Work<Given, Result> {
    return (...given) => {
      if (isClosed)
        throw new Error(`Expected a thread that takes something, got ${threadId}, which was closed.`)
      onWrite()
      return work(...given)
    }
  }
  function tell<Given extends readonly unknown[], Result>(work: Work<Given, Result>): Work<Given, Result> {
    return write((...given) => {
      countTell()
      return work(...given)
    })
  }
  function ask<Given extends readonly unknown[], Result>(work: Work<Given, Result>): Work<Given, Result> {
    return tell((...given) => {
      if (!isDeferred) return work(...given)
      throw new Error(
        `Expected a thread that runs, got ${threadId}, which waits for variables: use injectMessage, setValue, ` +
          'setEnv or files, which it finds.',
      )
    })
  }
  const { messages, values, files, variables, effects, family } = parts
  return {
    ...parts,
    messages: {
      ...messages,
      inject: write(messages.inject),
      queue: ask(messages.queue),
      update: write(messages.update),
      remove: ask(messages.remove),
      notify: tell(messages.notify),
    },
    values: { ...values, set: write(values.set) },
    files: {
      ...files,
      writeFile: write(files.writeFile),
      unlinkFile: write(files.unlinkFile),
      mkdirFile: write(files.mkdirFile),
      rmdirFile: write(files.rmdirFile),
    },
    variables: { ...variables, setEnv: tell(variables.setEnv) },
    effects: {
      ...effects,
      scheduleEffect: ask(effects.scheduleEffect),
      removeScheduledEffect: ask(effects.removeScheduledEffect),
    },
    family: { ...family, notifyParent: write(family.notifyParent), setStatus: write(family.setStatus) },
    queueTool: ask(parts.queueTool),
    emit: write(parts.emit),
    // One that is closed is what was asked for.
    terminate: isClosed ? () => undefined : ask(parts.terminate),
  }
}
