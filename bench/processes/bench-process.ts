import { fork } from 'node:child_process'
import { once } from 'node:events'

const HOOKS = new URL('../../test/store/processes/resolve-typescript.ts', import.meta.url).href

/** What a process can be asked, by name: each takes one value and answers one. */
export type Answers = Readonly<Record<string, (given: never) => unknown>>

/** A process of its own that does what it is asked, one thing after the other. */
export interface BenchProcess<Offered> {
  ask<Name extends keyof Offered & string>(
    name: Name,
    ...given: Offered[Name] extends (...given: infer Given) => unknown ? Given : never
  ): Promise<Offered[Name] extends (...given: never) => infer Answer ? Awaited<Answer> : never>
  end(): Promise<void>
}

/** What goes to the process, and what comes back. */
export interface Asked {
  readonly name: string
  readonly given: unknown
}
export type Said = { readonly answer: unknown } | { readonly problem: string }

/**
 * Runs a file of the bench with `argument`, and Node with `nodeOptions`; resolves when it takes orders. Its heap can be
 * collected by `gc()`.
 */
export async function startProcess<Offered>(
  file: URL,
  argument: unknown,
  nodeOptions: readonly string[] = [],
): Promise<BenchProcess<Offered>> {
  const child = fork(file.pathname, [JSON.stringify(argument)], {
    execArgv: ['--import', HOOKS, '--expose-gc', ...nodeOptions],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const gone = once(child, 'exit')
  const next = async (): Promise<unknown> => {
    const said = await Promise.race([
      new Promise<Said>((resolve) => child.once('message', (word) => resolve(word as Said))),
      gone.then((): Said => ({ problem: `Expected ${file.pathname} to run, got its end.` })),
    ])
    if ('problem' in said) throw new Error(said.problem)
    return said.answer
  }
  await next()
  const bench = {
    async ask(name: string, given?: unknown): Promise<unknown> {
      const answer = next()
      child.send({ name, given } satisfies Asked)
      return answer
    },
    async end() {
      child.kill('SIGKILL')
      await gone
    },
  }
  // The types of what it offers are those of its file.
  return bench as unknown as BenchProcess<Offered>
}
