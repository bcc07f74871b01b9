import { crash } from './crash.ts'
import { conversation } from './conversation.ts'
import { openStage } from './stage.ts'
import { bold, red } from './terminal.ts'
import { within } from './within.ts'

const crashing = process.argv.includes('--crash')
console.log(bold(crashing ? 'Everthread: a worker that dies' : 'Everthread: a conversation'))
try {
  // Requests can only be counted where the model's process is ours.
  const stage = await openStage({ scripted: crashing })
  await within(400, 'the demo to end', crashing ? crash(stage) : conversation(stage))
  await stage.close()
  console.log('\ndemo: ok')
} catch (error) {
  console.error(red(`\ndemo: failed: ${error instanceof Error ? error.message : String(error)}`))
  // Processes that still run are ended at exit.
  process.exit(1)
}
