/** The door of MCP servers whose tools agents call. It loads `@modelcontextprotocol/client` with the first request. */
export { mcpServer } from './mcp-server.js'
export type { HttpServer, McpServer, McpToolEntry, StdioServer } from './server-options.js'
