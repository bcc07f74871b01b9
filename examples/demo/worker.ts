import { DefaultLogger, Runtime } from '@temporalio/worker'
import { createWorker } from 'everthread/worker'

import { desk } from './registry.ts'

Runtime.install({ logger: new DefaultLogger('WARN') })
const worker = await createWorker({ registry: desk })
console.log('worker: ready')
await worker.run()
