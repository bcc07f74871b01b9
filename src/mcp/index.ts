/** The door of MCP servers whose tools agents call. It loads `@modelcontextprotocol/client` with the first request. */
export { mcpServer } from './mcp-server.js'
export type { KeptLogin } from '../definitions/tool-source.js'
export type {
  HttpServer,
  LoginPlace,
  LoginStore,
  McpServer,
  McpToolEntry,
  OAuthOptions,
  StdioServer,
} from './server-options.js'
