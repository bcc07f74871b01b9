import type { AgentDefinition, SideConfig } from './agent.js'

/** The session tools of a side, each with the name that earlier drafts of Standard Agents gave it. */
export const SESSION_TOOLS = [
  ['sessionStop', 'endSessionTool'],
  ['sessionFail', 'failSessionTool'],
  ['sessionStatus', 'statusTool'],
] as const

/** The same agent without the old names of fields, so that no reader has to know them. */
export function normalizedAgent<Agent extends AgentDefinition>(agent: Agent): Agent {
  const sideA = normalizedSide(agent.sideA)
  const sideB = agent.sideB === undefined ? undefined : normalizedSide(agent.sideB)
  if (sideA === agent.sideA && sideB === agent.sideB) return agent
  return { ...agent, sideA, ...(sideB === undefined ? {} : { sideB }) }
}

function normalizedSide(side: SideConfig): SideConfig {
  if (SESSION_TOOLS.every(([, oldName]) => side[oldName] === undefined)) return side
  const { endSessionTool, failSessionTool, statusTool, ...rest } = side
  return {
    ...(endSessionTool === undefined ? {} : { sessionStop: endSessionTool }),
    ...(failSessionTool === undefined ? {} : { sessionFail: failSessionTool }),
    ...(statusTool === undefined ? {} : { sessionStatus: statusTool }),
    ...rest,
  }
}
