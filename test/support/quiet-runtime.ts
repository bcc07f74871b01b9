import { DefaultLogger, Runtime } from '@temporalio/worker'

/** Once a process: a worker's states are not what a failing test has to say. */
Runtime.install({ logger: new DefaultLogger('WARN') })
