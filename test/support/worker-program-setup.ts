import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { rolldown } from 'rolldown'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The program of worker processes in one file: to load its sources one by one takes a process half a second more. */
    readonly workerProgramPath: string
  }
}

const PROGRAM = fileURLToPath(new URL('../integration/worker/worker-process.ts', import.meta.url))
const SCRATCH = fileURLToPath(new URL('../../.everthread', import.meta.url))

/** Global setup: the program of worker processes is bundled once for a project, in the checkout, where it finds its packages. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = join(SCRATCH, `worker-program-${process.pid}-${project.name}`)
  const bundle = await rolldown({
    input: PROGRAM,
    platform: 'node',
    // What is loaded more than once, by other packages or as a file of its own, and what is loaded only if it is used.
    external: [/^@temporalio\//, /^@aws-sdk\//, /^@opentelemetry\//, /^pg$/],
    logLevel: 'warn',
  })
  // Errors are known by the names of their classes.
  await bundle.write({ dir: folder, format: 'esm', keepNames: true })
  await bundle.close()
  project.provide('workerProgramPath', join(folder, 'worker-process.js'))
  return () => rm(folder, { recursive: true, force: true })
}
