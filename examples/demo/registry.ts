import { registry } from 'everthread'

import { research, support } from './agents.ts'
import { chat } from './models.ts'
import { researcher, reviewer, support_desk } from './prompts.ts'
import * as tools from './tools.ts'

/** Everything by name: the compiler refuses a name that is not here. */
export const desk = registry({
  agents: [support, research],
  prompts: [support_desk, researcher, reviewer],
  models: [chat],
  tools,
})
