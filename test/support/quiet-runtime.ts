import { DefaultLogger, Runtime } from '@temporalio/worker'

const installed = Symbol.for('everthread.test.quietRuntime')
const scope = globalThis as { [installed]?: true }

/** Once a process, which several test files may share: a worker's states are not what a failing test has to say. */
if (scope[installed] !== true) Runtime.install({ logger: new DefaultLogger('WARN') })
scope[installed] = true
