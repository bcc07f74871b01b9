import { registry } from '../../../src/index.js'
import { ask_satisfaction, maskCardNumbers, research, support } from './agents.js'
import { chat, review } from './models.js'
import { researcher, reviewer, support_desk, tone } from './prompts.js'
import * as tools from './tools.js'
export const desk = registry({
  agents: [support, research],
  prompts: [support_desk, tone, researcher, reviewer],
  models: [chat, review],
  hooks: [maskCardNumbers],
  tools,
  effects: { ask_satisfaction }, // these two are named by their key, as SA names them by their file; the others carry a name or an id
})
