// Builds the script and the style of the HTML report into a directory. With --check
// it writes nothing, and fails if the files there differ from a build.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const args = process.argv.slice(2);
const check = args.includes("--check");
const directory = args.find((w) => !w.startsWith("--"));
if (!directory) {
  console.error("usage: node build.js [--check] DIRECTORY");
  process.exit(2);
}

const options = {
  entryPoints: [join(here, "src/report.js"), join(here, "src/report.css")],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2020", "chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  legalComments: "none",
  outdir: directory,
  absWorkingDir: here,
  write: false,
};
const { metafile } = await build({ ...options, metafile: true });
const result = await build({ ...options, banner: { js: notice(Object.keys(metafile.inputs)) } });

let stale = 0;
for (const file of result.outputFiles) {
  const name = basename(file.path);
  const path = join(directory, name);
  if (!check) {
    writeFileSync(path, file.contents);
    console.log(`${path}: ${file.contents.length} bytes`);
    continue;
  }
  let have = Buffer.alloc(0);
  try {
    have = readFileSync(path);
  } catch {
    // A missing file is stale too.
  }
  if (!have.equals(Buffer.from(file.contents))) {
    console.error(`${path} is out of date: run "npm ci && npm run build" in web/`);
    stale++;
  }
}
process.exit(stale ? 1 : 0);

// The licences of the libraries require their notices in every copy: each text once,
// after the packages that it applies to.
function notice(inputs) {
  const packages = new Set(inputs.map((p) => p.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const root = join(here, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const file = readdirSync(root).find((f) => /^licen[cs]e/i.test(f));
    const lines = file ? readFileSync(join(root, file), "utf8").replaceAll("*/", "* /").trim().split("\n") : ["No licence file."];
    const rights = lines.filter((l) => /^copyright/i.test(l)).map((l) => l.trim());
    const body = lines.filter((l) => !/^copyright/i.test(l)).join("\n").trim();
    texts.set(body, [...(texts.get(body) ?? []), `${name} ${version}. ${rights.join(". ")}`.trim()]);
  }
  return "/*\n" + [...texts].map(([body, names]) => names.join("\n") + "\n\n" + body).join("\n\n") + "\n*/";
}
