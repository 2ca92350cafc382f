// Checks Grafana dashboards against the types that Grafana publishes for them:
//
//   node dashboards.js FILE...
//
// Each file becomes a literal of the type Dashboard, and each of its panels one
// of the panel's own type, and the compiler says what does not fit. Enumerations
// of strings are taken as the strings that JSON has for them.
import { readFileSync } from "node:fs";
import ts from "typescript";

const panels = {
  stat: "stat/panelcfg/x/StatPanelCfg_types.gen",
  table: "table/panelcfg/x/TablePanelCfg_types.gen",
  timeseries: "timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen",
};

const literal = (type, value) => `((_: Plain<${type}>) => _)(${JSON.stringify(value, null, 1)});\n`;

let source = `import type { Dashboard, DataQuery, Panel, RowPanel, VariableModel } from "@grafana/schema";
type Plain<T> = T extends string ? \`\${T}\`
  : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
// The query of Prometheus: its plug-in publishes no types.
type Query = DataQuery & { expr: string; legendFormat?: string; instant?: boolean; range?: boolean; format?: "table" | "time_series" };
`;
for (const [name, path] of Object.entries(panels)) {
  source += `import type * as ${name} from "@grafana/schema/dist/esm/raw/composable/${path}";\n`;
}
for (const file of process.argv.slice(2)) {
  const dashboard = JSON.parse(readFileSync(file, "utf8"));
  source += literal("Dashboard", dashboard);
  for (const v of dashboard.templating.list) source += literal("VariableModel", v);
  for (const panel of dashboard.panels) {
    source += literal(panel.type === "row" ? "RowPanel" : "Panel", panel);
    for (const target of panel.targets ?? []) source += literal("Query", target);
    if (panel.type === "row") continue;
    if (!panels[panel.type]) throw new Error(`${file}: panel ${panel.title}: the type ${panel.type} is not checked`);
    source += literal(`${panel.type}.Options`, panel.options);
    const custom = panel.fieldConfig?.defaults?.custom;
    if (custom) source += literal(`${panel.type}.FieldConfig`, custom);
  }
}

const name = `${import.meta.dirname}/dashboards.check.ts`; // is never written
const options = { strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] };
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists } = host;
host.getSourceFile = (path, ...rest) => (path === name ? ts.createSourceFile(path, source, options.target) : getSourceFile.call(host, path, ...rest));
host.fileExists = (path) => path === name || fileExists.call(host, path);
const found = ts.getPreEmitDiagnostics(ts.createProgram([name], options, host));
for (const d of found) {
  const line = d.file ? d.file.text.slice(d.start, d.start + d.length).split("\n")[0] + ": " : "";
  console.error(line + ts.flattenDiagnosticMessageText(d.messageText, "\n  "));
}
process.exit(found.length ? 1 : 0);
