// Decides for the rows of rows.json, whole or step by step, and prints what became of them.
import { readFileSync } from "node:fs";
import { classify, start } from "./policy.js";

const { rows, maxCost, step } = JSON.parse(readFileSync("rows.json", "utf8"));

function byStep(row) {
  const one = start({ maxCost });
  while (one.nextFeature !== null) {
    one.observe(row[one.nextFeature]);
  }
  return { label: one.label, features: one.history.map((a) => a.feature), cost: one.cost, posterior: one.posterior };
}

console.log(JSON.stringify(rows.map((row) => (step ? byStep(row) : classify(row, { maxCost })))));
