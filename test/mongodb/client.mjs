// A program that uses Node's driver of MongoDB: build.sh says how it is asked.
import { createInterface } from "node:readline";
import { MongoClient } from "mongodb";

const client = new MongoClient(process.argv[2]);
for await (const _ of createInterface({ input: process.stdin })) {
  try {
    await client.db("shop").collection("items").findOne({});
    console.log("ok");
  } catch (error) {
    console.log(`${error.name}: ${error.message}`);
  }
}
await client.close();
