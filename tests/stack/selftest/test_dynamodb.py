"""Conditional writes on the DynamoDB server, raced from many processes."""

import multiprocessing

import boto3
from botocore.exceptions import ClientError

from client.account import CONFIG
from on_stack import StackTest

PROCESSES, WINS_EACH = 16, 5


def client(url):
    return boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="stack",
                        aws_secret_access_key="stack", config=CONFIG)


def compete(url, table, number, start, results):
    """Raises the item's revision by compare-and-set until it has won a few times."""
    dynamodb = client(url)
    won, lost = [], 0
    start.wait()
    while len(won) < WINS_EACH:
        item = dynamodb.get_item(TableName=table, Key={"pk": {"S": "race"}}, ConsistentRead=True)["Item"]
        revision = int(item["revision"]["N"])
        try:
            dynamodb.update_item(TableName=table, Key={"pk": {"S": "race"}},
                                 UpdateExpression="SET revision = :next, #o = :me",
                                 ConditionExpression="revision = :seen", ExpressionAttributeNames={"#o": "owner"},
                                 ExpressionAttributeValues={":next": {"N": str(revision + 1)}, ":seen": {"N": str(revision)},
                                                            ":me": {"S": str(number)}})
            won.append(revision + 1)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            lost += 1
    results.put((number, won, lost))


def create(url, table, number, start, results):
    """Puts an item if there is none: exactly one may succeed."""
    dynamodb = client(url)
    start.wait()
    try:
        dynamodb.put_item(TableName=table, Item={"pk": {"S": "first"}, "owner": {"N": str(number)}},
                          ConditionExpression="attribute_not_exists(pk)")
        results.put((number, True))
    except ClientError as error:
        results.put((number, error.response["Error"]["Code"]))


class Races(StackTest):
    needs = ("dynamodb", "aws")

    def race(self, work):
        context = multiprocessing.get_context("spawn")
        start, results = context.Barrier(PROCESSES), context.Queue()
        arguments = [(self.stack.env["STACK_DYNAMODB_URL"], self.stack.account["state_table"], n, start, results)
                     for n in range(PROCESSES)]
        children = [context.Process(target=work, args=a) for a in arguments]
        for child in children:
            child.start()
        answers = [results.get(timeout=120) for _ in children]
        for child in children:
            child.join(20)
            self.assertEqual(child.exitcode, 0)
        return answers

    def test_sixteen_processes_that_compare_and_set_never_win_the_same_revision(self):
        dynamodb = self.stack.aws("dynamodb")
        table = self.stack.account["state_table"]
        dynamodb.put_item(TableName=table, Item={"pk": {"S": "race"}, "revision": {"N": "0"}})
        answers = self.race(compete)
        won = sorted(revision for _, mine, _ in answers for revision in mine)
        self.assertEqual(won, list(range(1, PROCESSES * WINS_EACH + 1)))
        self.assertGreater(sum(lost for _, _, lost in answers), 0, "nobody ever lost: this was no race")
        item = dynamodb.get_item(TableName=table, Key={"pk": {"S": "race"}}, ConsistentRead=True)["Item"]
        self.assertEqual(int(item["revision"]["N"]), PROCESSES * WINS_EACH)

    def test_sixteen_processes_that_put_if_absent_have_one_winner(self):
        answers = self.race(create)
        winners = [number for number, outcome in answers if outcome is True]
        self.assertEqual(len(winners), 1, answers)
        self.assertEqual({outcome for _, outcome in answers if outcome is not True}, {"ConditionalCheckFailedException"})
        item = self.stack.aws("dynamodb").get_item(TableName=self.stack.account["state_table"], Key={"pk": {"S": "first"}})["Item"]
        self.assertEqual(int(item["owner"]["N"]), winners[0])
